/* SPDX-License-Identifier: MIT */
/*
 * upload_way.h - what upload.c, upload_mount.c and upload_sftp.c share
 */
#ifndef LUDWIG_CLIENT_UPLOAD_WAY_H
#define LUDWIG_CLIENT_UPLOAD_WAY_H

#include "client/upload.h"

/* Of what is made below a project. */
struct upload_modes {
    mode_t folder, file;
};

enum {
    LEFTOVER_AGE_S = 7 * 24 * 3600
}; /* what a try left that did not come back for so long goes */

struct upload_modes upload_modes_of(mode_t project);
mode_t upload_file_mode(const struct upload_modes *modes, const struct tree_entry *entry);

/* Opens the file here. */
int upload_open_entry(const struct tree_entry *entry, struct err *e);
/* After n_bytes of it were read from fd: it is what it was when its digest was taken. */
int upload_check_unchanged(const struct tree_entry *entry, int fd, uint64_t n_bytes, struct err *e);

/* ".tmp-<token>": what trees are called until they are whole.  Caller frees. */
char *upload_temporary_name(void);
bool upload_is_temporary(const char *name);

struct upload_way {
    int (*make_project)(const struct place *to, const struct folder_order *order, struct err *e);
    int (*tree)(const struct place *to, const struct tree *t, struct uploadbar *bar, struct err *e);
    bool (*has_tree)(const struct place *to, const struct digest *tree);
    int (*sweep_files)(const struct place *to, int64_t sweep, const struct upload_text *files,
                       size_t n, struct err *e);
};

extern const struct upload_way upload_mount, upload_sftp;

#endif

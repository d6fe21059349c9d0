/* SPDX-License-Identifier: MIT */
/*
 * upload_way.h - what upload.c, upload_mount.c and upload_sftp.c share
 */
#ifndef LUDWIG_CLIENT_SHARE_UPLOAD_WAY_H
#define LUDWIG_CLIENT_SHARE_UPLOAD_WAY_H

#include "client/share/upload.h"

/* Of what is made below a project. */
struct upload_modes {
    mode_t folder, file;
};

enum {
    LEFTOVER_AGE_S = 7 * 24 * 3600
}; /* what a try left that did not come back for so long goes */

struct upload_modes upload_modes_of(mode_t project);
/* Of a file here; where files have no owner of their own (CIFS) it is the server's business.  -1 with
 * errno. */
int upload_set_mode(int fd, mode_t mode);

/* Makes the folder below the project if need be, and opens it; modes: what is made there gets.
 * path: relative to the share. */
int upload_open_below(const struct place *to, const char *path, struct upload_modes *modes,
                      struct err *e);
/* ".tmp-<token>": what files are called until they are whole.  Caller frees. */
char *upload_temporary_name(void);
bool upload_is_temporary(const char *name);

struct upload_way {
    int (*make_project)(const struct place *to, const struct folder_order *order, struct err *e);
    struct upload_sweep *(*sweep_begin)(const struct place *to, int64_t sweep,
                                        const struct upload_text *files, size_t n, struct err *e);
    int (*sweep_end)(struct upload_sweep *u, struct err *e);
};

/* What the ways' own begin with. */
struct upload_sweep {
    const struct upload_way *way;
};

extern const struct upload_way upload_mount, upload_sftp;

#endif

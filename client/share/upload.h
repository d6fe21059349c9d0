/* SPDX-License-Identifier: MIT */
/*
 * upload.h - brings files to the shared drive
 *
 * What is made there gets its mode from the project's folder, whatever the umask: below 2770 files
 * are 0660 and folders 2770, below 0755 they are 0644 and 0755.
 */
#ifndef LUDWIG_CLIENT_SHARE_UPLOAD_H
#define LUDWIG_CLIENT_SHARE_UPLOAD_H

#include "client/share/share_connection.h"
#include "common/proto/proto.h"

/* Where files go. */
struct place {
    struct share_connection *drive;
    const char *project;
    mode_t mode; /* of the project's folder; 0: not known */
};

/* Makes the project's folder, as ludwigd orders where it cannot do so itself. */
int upload_make_project(const struct place *to, const struct folder_order *order, struct err *e);

struct upload_text {
    const char *name;
    struct bytes text;
};

/* Small files for sweeps/N/ that are on their way. */
struct upload_sweep;

/* Over SFTP this waits for nothing; the texts must be there until the end. */
struct upload_sweep *upload_sweep_begin(const struct place *to, int64_t sweep,
                                        const struct upload_text *files, size_t n, struct err *e);
/* Waits until they are on the disk.  Frees u in any case. */
int upload_sweep_end(struct upload_sweep *u, struct err *e);
/* Both. */
int upload_sweep_files(const struct place *to, int64_t sweep, const struct upload_text *files,
                       size_t n, struct err *e);

#endif

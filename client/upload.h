/* SPDX-License-Identifier: MIT */
/*
 * upload.h - brings files to the shared drive
 *
 * What is made there gets its mode from the project's folder, whatever the umask: below 2770 files
 * are 0660 and folders 2770, below 0755 they are 0644 and 0755.
 */
#ifndef LUDWIG_CLIENT_UPLOAD_H
#define LUDWIG_CLIENT_UPLOAD_H

#include "client/drive.h"
#include "common/proto.h"

/* Where files go. */
struct place {
    struct drive *drive;
    const char *project;
};

/* Makes the project's folder, as ludwigd orders where it cannot do so itself. */
int upload_make_project(const struct place *to, const struct folder_order *order, struct err *e);

struct upload_text {
    const char *name;
    struct bytes text;
};

/* Writes small files into sweeps/N/. */
int upload_sweep_files(const struct place *to, int64_t sweep, const struct upload_text *files,
                       size_t n, struct err *e);

#endif

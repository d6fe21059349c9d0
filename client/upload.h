/* SPDX-License-Identifier: MIT */
/*
 * upload.h - brings files to the shared drive
 *
 * The one door to it: today a mounted share, whose path is the place.
 */
#ifndef LUDWIG_CLIENT_UPLOAD_H
#define LUDWIG_CLIENT_UPLOAD_H

#include "client/tree.h"
#include "common/proto.h"

/* Where files go: the share as this machine sees it, and the project there. */
struct place {
    const char *share;
    const char *project;
};

/* Makes the project's folder, as ludwigd orders where it cannot do so itself. */
int upload_make_project(const struct place *to, const struct folder_order *order, struct err *e);

/* Brings a tree (with digests) there, whole or not at all; one that is there is not sent again. */
int upload_tree(const struct place *to, const struct tree *t, struct err *e);

/* Whether such a tree is there already, as far as can be seen. */
bool upload_has_tree(const struct place *to, const struct digest *tree);

/* Writes a small file into sweeps/N/. */
int upload_sweep_file(const struct place *to, int64_t sweep, const char *name, struct bytes text,
                      struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * dir_walk.h - from path to path of a tree, never through a symlink
 *
 * Keeps the folders of the last path open, so that a walk through a tree in order opens each
 * folder once.
 */
#ifndef LUDWIG_WORKER_BASE_DIR_WALK_H
#define LUDWIG_WORKER_BASE_DIR_WALK_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct dir_walk {
    int base_fd;      /* the caller's */
    const char *tree; /* a name below it: where the tree lies; NULL: it is base_fd itself */
    struct buf path;  /* the last */
    struct dir_walk_level *levels;
    size_t n, capacity;
};

void dir_walk_begin(struct dir_walk *d, int base_fd, const char *tree);
void dir_walk_end(struct dir_walk *d);

/* The folder in which the path's last name lies, and that name: for the *at() calls only, until the
 * next call.  Of the path "": base_fd and the tree's own name.  -1 with e set. */
int dir_walk_to(struct dir_walk *d, const char *path, const char **name, struct err *e);

#endif

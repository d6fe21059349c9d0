/* SPDX-License-Identifier: MIT */
/*
 * dir_walk.h - opens the folders of a tree path after path, never through a symlink
 *
 * The folders of the last path stay open, so that a walk in order opens each folder once.
 */
#ifndef LUDWIG_WORKER_BASE_DIR_WALK_H
#define LUDWIG_WORKER_BASE_DIR_WALK_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct dir_walk {
    int base_fd;      /* the caller closes it, after dir_walk_end */
    const char *tree; /* the tree's name in base_fd; NULL: base_fd is the tree */
    struct buf path;  /* the folder of the last path */
    struct dir_walk_level *levels;
    size_t n, capacity;
};

void dir_walk_begin(struct dir_walk *d, int base_fd, const char *tree);
void dir_walk_end(struct dir_walk *d);

/* Returns the folder in which the path's last name lies, a descriptor for *at() calls until the
 * next call, and sets *name to that name; for path "" base_fd and d->tree.  -1 with e set. */
int dir_walk_to(struct dir_walk *d, const char *path, const char **name, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pack_path.h - the order and the rules of the paths in a packed tree
 *
 * Paths are bytes of any encoding, relative to the tree's top, without NUL, empty names, "." and
 * "..", at most PACK_PATH_MAX long and PACK_NAME_MAX between slashes.  They are ordered by bytes
 * with the slash before all others, so that what is in a folder follows it at once: a, a/b, a.txt.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_PATH_H
#define LUDWIG_COMMON_PACK_PACK_PATH_H

#include "common/pack/pack.h"

/* <0, 0, >0.  Names without slashes are in the order of strcmp. */
int pack_path_compare(const char *x, const char *y);

/* -1 with ERR_PROTOCOL when it breaks the rules. */
int pack_path_check(const char *path, size_t n, struct err *e);

/* Watches that entries come in order, once, and each in a folder that came before.
 * Zero-initialised is empty. */
struct pack_order {
    struct buf last;   /* the path before */
    struct buf folder; /* the innermost folder open */
    size_t *ends;      /* where in it the folders end that are open */
    size_t n, capacity;
    bool begun;
    bool is_file; /* the tree is one file, "" */
};

int pack_order_take(struct pack_order *o, const char *path, enum pack_kind kind, struct err *e);
void pack_order_free(struct pack_order *o);

#endif

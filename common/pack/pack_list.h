/* SPDX-License-Identifier: MIT */
/*
 * pack_list.h - what a part holds
 */
#ifndef LUDWIG_COMMON_PACK_PACK_LIST_H
#define LUDWIG_COMMON_PACK_PACK_LIST_H

#include "common/pack/pack.h"

struct pack_list {
    struct pack_part part;
    /* Relative to the share.  PACK_IN_PLACE: of the file; PACK_FILES: where the tree's top lies, and a
     * piece is the file at its entry's path below that; else NULL */
    const char *path;
    uint64_t offset; /* PACK_IN_PLACE: where in it the first piece lies */
    struct pack_piece *pieces;
    uint32_t n;
};

/* Appends it as it is stored, and sets part.list. */
void pack_list_encode(struct pack_list *l, struct buf *out);

/* From bytes as they are stored, which must have the digest name.  NULL with e set. */
struct pack_list *pack_list_decode(const struct digest *name, struct bytes stored, struct err *e);
void pack_list_destroy(struct pack_list *l); /* NULL is fine */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pack_object.h - lists and manifests, to and from bytes (docs/internals/packs.md)
 */
#ifndef LUDWIG_COMMON_PACK_PACK_OBJECT_H
#define LUDWIG_COMMON_PACK_PACK_OBJECT_H

#include "common/base/mem.h"
#include "common/data/schema.h"
#include "common/pack/pack.h"

/* -1 with ERR_PROTOCOL if the object is too large for its kind, or does not have that digest. */
int pack_check_digest(const struct digest *name, struct bytes stored, enum pack_object kind,
                      struct err *e);

/* The list of a part's pieces. */
struct pack_list {
    struct pack_part part;
    /* Relative to the share.  PACK_IN_PLACE: path of the file.  PACK_FILES: path of the tree's top;
     * each piece is the file at its entry's path below the top.  Other forms: NULL. */
    const char *path;
    uint64_t offset; /* PACK_IN_PLACE: where the first piece lies in the file */
    struct pack_piece *pieces;
    uint32_t n;
};

/* Appends the stored form, and sets l->part.list. */
void pack_list_encode(struct pack_list *l, struct buf *out);

/* Reads the stored form, which must have the digest name.  NULL with e set. */
struct pack_list *pack_list_decode(const struct digest *name, struct bytes stored, struct err *e);
void pack_list_destroy(struct pack_list *l); /* NULL is fine */

/* A row of the manifest's blocks. */
struct manifest_block {
    struct digest name;
    struct bytes first; /* the block's first path */
    int64_t entries;
};

struct pack_manifest {
    struct digest tree;
    struct pack_totals totals;
    const struct pack_part *parts;
    size_t n_parts;
    const struct manifest_block *blocks;
    size_t n_blocks;
};

/* Appends the stored form. */
void manifest_encode(const struct pack_manifest *m, struct buf *out);
/* Reads the stored form, whose digest must be id; all that m points to lives in a. */
int manifest_decode(const struct digest *id, struct bytes stored, struct arena *a,
                    struct pack_manifest *m, struct err *e);

#endif

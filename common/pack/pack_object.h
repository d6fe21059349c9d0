/* SPDX-License-Identifier: MIT */
/*
 * pack_object.h - lists and manifests, to and from bytes (docs/internals/packs.md)
 */
#ifndef LUDWIG_COMMON_PACK_PACK_OBJECT_H
#define LUDWIG_COMMON_PACK_PACK_OBJECT_H

#include "common/base/mem.h"
#include "common/data/schema.h"
#include "common/pack/pack.h"

/* -1 with ERR_PROTOCOL if it is too large for its kind, or its bytes do not have that digest. */
int pack_check_digest(const struct digest *name, struct bytes stored, enum pack_object kind,
                      struct err *e);

/* What a part holds. */
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

/* A row of the manifest's blocks. */
struct manifest_block {
    struct digest name;
    struct bytes first; /* path in it */
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

/* Appends what is stored. */
void manifest_encode(const struct pack_manifest *m, struct buf *out);
/* From bytes whose digest must be id; what m points to is in a. */
int manifest_decode(const struct digest *id, struct bytes stored, struct arena *a,
                    struct pack_manifest *m, struct err *e);

#endif

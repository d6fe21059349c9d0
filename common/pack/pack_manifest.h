/* SPDX-License-Identifier: MIT */
/*
 * pack_manifest.h - what names the blocks and parts of a dataset, to and from bytes
 */
#ifndef LUDWIG_COMMON_PACK_PACK_MANIFEST_H
#define LUDWIG_COMMON_PACK_PACK_MANIFEST_H

#include "common/base/mem.h"
#include "common/data/schema.h"
#include "common/pack/pack.h"

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

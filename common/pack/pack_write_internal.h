/* SPDX-License-Identifier: MIT */
/*
 * pack_write_internal.h - what pack_write.c and pack_write_file.c share
 */
#ifndef LUDWIG_COMMON_PACK_PACK_WRITE_INTERNAL_H
#define LUDWIG_COMMON_PACK_PACK_WRITE_INTERNAL_H

#include "common/pack/pack_block.h"
#include "common/pack/pack_list.h"
#include "common/pack/pack_manifest.h"
#include "common/pack/pack_part_write.h"
#include "common/pack/pack_path.h"
#include "common/pack/pack_seen.h"
#include "common/pack/pack_tree.h"
#include "common/pack/pack_write.h"

struct pack_writer {
    struct pack_sink sink;
    struct pack_order order;
    struct pack_tree *tree;
    struct pack_summary summary; /* so far */

    /* The manifest's parts; of those that are not whole yet nothing is known. */
    struct pack_part *parts;
    bool *part_done;
    size_t n_parts, parts_capacity;
    struct pack_seen *by_list; /* which of them has that list */
    struct pack_seen *seen;    /* where pieces went that this tree had already */
    struct part_writer *slots[PACK_SLOTS];
    uint32_t open[PACK_SLOTS]; /* which part a slot writes */
    struct pack_list files; /* PACK_FILES: those that stay where they are, and are not listed yet */
    size_t files_capacity;
    uint32_t files_part;

    /* Blocks that ended and wait for the parts they refer to. */
    struct block_writer *block;
    struct block_closed *pending;
    size_t n_pending, pending_capacity, pending_bytes;
    struct manifest_block *blocks; /* those that were written */
    size_t n_blocks, blocks_capacity;

    /* The file at hand. */
    struct pack_run *runs;
    size_t n_runs, runs_capacity;
    struct digest *digests;
    size_t n_digests, digests_capacity;
    struct hasher *hasher; /* of pieces */
    uint8_t *piece;
};

int pack_new_part(struct pack_writer *w, uint32_t *part, struct err *e);
void pack_part_is_done(struct pack_writer *w, uint32_t part, const struct pack_part *what);

/* Whether the piece lies somewhere already, and where. */
bool pack_find_piece(struct pack_writer *w, const struct digest *piece, struct pack_run *run);
/* Puts it into a part. */
int pack_store_piece(struct pack_writer *w, bool is_whole_file, const struct part_piece *piece,
                     struct pack_run *run, struct err *e);

/* Lists the files that stay where they are. */
int pack_end_files(struct pack_writer *w, struct err *e);

/* The order was looked at, and the tree's digest has the pieces. */
int pack_add_entry(struct pack_writer *w, const struct pack_entry *entry, struct err *e);

#endif

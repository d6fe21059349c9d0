/* SPDX-License-Identifier: MIT */
/*
 * pack_block.h - some thousand entries of a tree, to and from bytes
 *
 * A block refers to parts.  While it is written, parts have numbers, as some are not whole yet;
 * block_encode puts in the digests of their lists.  In a block that was read, a run's part is an
 * index among the block's own parts, and only runs of holes have their number of bytes.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_BLOCK_H
#define LUDWIG_COMMON_PACK_PACK_BLOCK_H

#include "common/base/mem.h"
#include "common/data/schema.h"
#include "common/data/value.h"
#include "common/pack/pack.h"

/* ---- stored form ---- */

enum {
    BLOCK_BODY_BYTES_MAX = 4 * 1024 * 1024,
    BLOCK_PARTS_MAX = 96 * 1024,
    BLOCK_RUNS_MAX = 96 * 1024 /* of one entry */
};

struct stored_block {
    int64_t v;
    struct bytes lists;
    int64_t body_bytes;
    struct bytes body;
};

extern const struct schema block_schema;

/* ---- writing ---- */

struct block_writer;

struct block_writer *block_writer_create(void);
void block_writer_destroy(struct block_writer *b); /* NULL is fine */

size_t block_writer_count(const struct block_writer *b); /* entries */
/* Whether the block must be ended (block_writer_end) before this entry. */
bool block_writer_is_cut_before(const struct block_writer *b, const char *path,
                                enum pack_kind kind);
/* -1 when there are too many runs. */
int block_writer_add(struct block_writer *b, const struct pack_entry *entry, struct err *e);

/* A block that has ended, whose parts are still numbers. */
struct block_closed {
    struct buf body; /* compressed */
    size_t body_bytes;
    uint32_t *parts;
    size_t n_parts;
    char *first;
    size_t n;
};

/* Ends the block and begins the next. */
void block_writer_end(struct block_writer *b, struct block_closed *closed);
void block_closed_free(struct block_closed *c);
/* Appends the stored form.  lists: n_parts digests. */
int block_encode(const struct block_closed *c, struct bytes lists, struct buf *out, struct err *e);

/* ---- reading ---- */

/* A zero-initialised reader is at its end. */
struct block_reader {
    struct arena *arena;
    const struct digest *lists;
    size_t n_lists;
    size_t n; /* entries */
    const struct value *items;
    size_t next;
    struct buf path;
    struct pack_run *runs;
    size_t capacity;
    bool has_named; /* an entry named a piece; the one after it is next_piece of part */
    uint32_t part, next_piece;
};

int block_open(struct block_reader *b, const struct digest *name, struct bytes stored,
               struct err *e);
/* Returns 1 with an entry, valid until the next call; 0 at the end; -1 with e set. */
int block_next(struct block_reader *b, struct pack_entry *entry, struct err *e);
void block_close(struct block_reader *b);

#endif

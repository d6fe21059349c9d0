/* SPDX-License-Identifier: MIT */
/* pack_block_write.c - some thousand entries of a tree become bytes */
#include <stdlib.h>
#include <string.h>

#include "common/data/msgpack.h"
#include "common/pack/pack_block.h"
#include "common/pack/pack_block_form.h"
#include "common/pack/pack_bytes.h"

enum {
    CUT_MIN_BYTES = 32 * 1024,
    CUT_MAX_BYTES = 256 * 1024,
    FOLDERS_PER_CUT = 2,
    ENTRIES_PER_CUT = 1024,
};

/* Which of the block's parts a part is, if that was said in this block. */
struct local {
    size_t block;
    uint32_t index;
};

struct block_writer {
    struct buf entries;
    size_t n;
    char *first;
    struct buf last; /* path */
    uint32_t *parts;
    size_t n_parts, parts_capacity;
    struct local *locals; /* by part */
    size_t n_locals;
    size_t block; /* which one this is, from 1 on */
    bool has_named;
    uint32_t part, next_piece;
};

struct block_writer *block_writer_create(void)
{
    struct block_writer *b = mem_alloc(sizeof *b);

    b->block = 1;
    return b;
}

void block_writer_destroy(struct block_writer *b)
{
    if (b == NULL)
        return;
    buf_free(&b->entries);
    buf_free(&b->last);
    free(b->first);
    free(b->parts);
    free(b->locals);
    free(b);
}

size_t block_writer_count(const struct block_writer *b)
{
    return b->n;
}

/* ---- where it ends ---- */

static uint32_t hash_of(const char *path)
{
    uint64_t h = 0xcbf29ce484222325;

    for (; *path != '\0'; path++)
        h = (h ^ (uint8_t)*path) * 0x100000001b3;
    return (uint32_t)(h >> 32 ^ h);
}

bool block_writer_is_cut_before(const struct block_writer *b, const char *path, enum pack_kind kind)
{
    uint32_t hash;

    if (b->entries.n < CUT_MIN_BYTES || b->entries.n >= CUT_MAX_BYTES)
        return b->entries.n >= CUT_MAX_BYTES;
    hash = hash_of(path);
    return hash % (kind == PACK_FOLDER ? FOLDERS_PER_CUT : ENTRIES_PER_CUT) == 0;
}

/* ---- entries ---- */

static uint32_t local_index(struct block_writer *b, uint32_t part)
{
    while (part >= b->n_locals) {
        size_t n = b->n_locals > 0 ? 2 * b->n_locals : 64;

        b->locals = mem_resize(b->locals, n, sizeof *b->locals);
        memset(b->locals + b->n_locals, 0, (n - b->n_locals) * sizeof *b->locals);
        b->n_locals = n;
    }
    if (b->locals[part].block != b->block) {
        mem_grow((void **)&b->parts, &b->parts_capacity, b->n_parts, sizeof *b->parts);
        b->locals[part] = (struct local){ b->block, (uint32_t)b->n_parts };
        b->parts[b->n_parts++] = part;
    }
    return b->locals[part].index;
}

static bool follows(const struct block_writer *b, const struct pack_entry *entry)
{
    const struct pack_run *run = entry->runs;

    return entry->n_runs == 1 && run->part != PACK_HOLE && run->n == 1 && b->has_named &&
           run->part == b->part && run->first == b->next_piece;
}

static void add_run(struct block_writer *b, const struct pack_run *run)
{
    if (run->part == PACK_HOLE) {
        mp_add_int(&b->entries, -1);
        mp_add_int(&b->entries, (int64_t)(run->bytes / PACK_PIECE_BYTES));
        mp_add_int(&b->entries, 0);
        return;
    }
    mp_add_int(&b->entries, local_index(b, run->part));
    mp_add_int(&b->entries, run->first);
    mp_add_int(&b->entries, run->n);
}

static void add_runs(struct block_writer *b, const struct pack_entry *entry)
{
    mp_add_list(&b->entries, 3 * entry->n_runs);
    for (size_t i = 0; i < entry->n_runs; i++)
        add_run(b, &entry->runs[i]);
}

static void remember(struct block_writer *b, const struct pack_entry *entry)
{
    for (size_t i = 0; i < entry->n_runs; i++) {
        const struct pack_run *run = &entry->runs[i];

        if (run->part == PACK_HOLE)
            continue;
        b->has_named = true;
        b->part = run->part;
        b->next_piece = run->first + run->n;
    }
}

static void add_path(struct block_writer *b, const char *path)
{
    const char *last = buf_text(&b->last);
    size_t keep = 0;

    if (b->n > 0)
        while (path[keep] != '\0' && path[keep] == last[keep])
            keep++;
    mp_add_int(&b->entries, (int64_t)keep);
    mp_add_bin(&b->entries, path + keep, strlen(path + keep));
    buf_clear(&b->last);
    buf_add_str(&b->last, path);
}

int block_writer_add(struct block_writer *b, const struct pack_entry *entry, struct err *e)
{
    bool is_file = entry->kind == PACK_FILE || entry->kind == PACK_PROGRAM;
    bool short_form = entry->kind == PACK_FOLDER || (is_file && follows(b, entry));

    if (entry->n_runs > BLOCK_RUNS_MAX)
        return err_set(e, ERR_FAILED, "%s lies in too many pieces", entry->path);
    if (b->n == 0)
        b->first = mem_strdup(entry->path);
    mp_add_list(&b->entries, short_form ? 3 : 4);
    add_path(b, entry->path);
    mp_add_int(&b->entries, entry->kind);
    if (is_file && !short_form)
        add_runs(b, entry);
    else if (!short_form)
        mp_add_bin(&b->entries, entry->target, strlen(entry->target));
    if (is_file)
        remember(b, entry);
    b->n++;
    return 0;
}

/* ---- the end ---- */

void block_writer_end(struct block_writer *b, struct block_closed *closed)
{
    struct buf body = { 0 };

    mp_add_list(&body, b->n);
    buf_add(&body, b->entries.bytes, b->entries.n);
    *closed = (struct block_closed){ .body_bytes = body.n, .first = b->first, .n = b->n };
    pack_compress(buf_bytes(&body), &closed->body);
    /* It may wait long, and is much smaller than the room made for it. */
    closed->body.bytes = mem_resize(closed->body.bytes, closed->body.n + 1, 1);
    closed->body.capacity = closed->body.n + 1;
    closed->parts = mem_copy(b->parts, b->n_parts * sizeof *b->parts);
    closed->n_parts = b->n_parts;
    buf_free(&body);
    buf_clear(&b->entries);
    b->first = NULL;
    b->n = b->n_parts = 0;
    b->has_named = false;
    b->block++;
}

void block_closed_free(struct block_closed *c)
{
    buf_free(&c->body);
    free(c->parts);
    free(c->first);
    *c = (struct block_closed){ 0 };
}

int block_encode(const struct block_closed *c, struct bytes lists, struct buf *out, struct err *e)
{
    struct stored_block s = { .v = PACK_VERSION,
                              .lists = lists,
                              .body_bytes = (int64_t)c->body_bytes,
                              .body = buf_bytes(&c->body) };

    if (c->body_bytes > BLOCK_BODY_BYTES_MAX || c->n_parts > BLOCK_PARTS_MAX)
        return err_set(e, ERR_FAILED, "%s lies in too many pieces", c->first);
    schema_encode(&block_schema, &s, out);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* pack_block.c - some thousand entries of a tree, to bytes and from bytes that are not trusted */

#include "common/pack/pack_block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "common/data/msgpack.h"
#include "common/pack/pack_object.h"

enum {
    CUT_MIN_BYTES = 32 * 1024,
    CUT_MAX_BYTES = 256 * 1024,
    FOLDERS_PER_CUT = 2,
    ENTRIES_PER_CUT = 1024,
    LEVEL = 3 /* of compression, which is fast enough, as names are few bytes */
};

/* The index of a part among the block's parts, valid while block is the current one. */
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
    size_t block; /* number of the current block, from 1 on */
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

/* ---- boundaries between blocks ---- */

bool block_writer_is_cut_before(const struct block_writer *b, const char *path, enum pack_kind kind)
{
    uint64_t h = 0xcbf29ce484222325;
    uint32_t hash;

    if (b->entries.n < CUT_MIN_BYTES || b->entries.n >= CUT_MAX_BYTES)
        return b->entries.n >= CUT_MAX_BYTES;
    for (; *path != '\0'; path++)
        h = (h ^ (uint8_t)*path) * 0x100000001b3;
    hash = (uint32_t)(h >> 32 ^ h);
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

static void add_runs(struct block_writer *b, const struct pack_entry *entry)
{
    mp_add_list(&b->entries, 3 * entry->n_runs);
    for (size_t i = 0; i < entry->n_runs; i++) {
        const struct pack_run *run = &entry->runs[i];
        bool is_hole = run->part == PACK_HOLE;

        mp_add_int(&b->entries, is_hole ? -1 : (int64_t)local_index(b, run->part));
        mp_add_int(&b->entries, is_hole ? (int64_t)(run->bytes / PACK_PIECE_BYTES) : run->first);
        mp_add_int(&b->entries, is_hole ? 0 : run->n);
    }
}

int block_writer_add(struct block_writer *b, const struct pack_entry *entry, struct err *e)
{
    bool is_file = entry->kind == PACK_FILE || entry->kind == PACK_PROGRAM;
    const struct pack_run *runs = entry->runs;
    bool follows = entry->n_runs == 1 && runs->part != PACK_HOLE && runs->n == 1 && b->has_named &&
                   runs->part == b->part && runs->first == b->next_piece;
    bool short_form = entry->kind == PACK_FOLDER || (is_file && follows);
    const char *path = entry->path, *last = buf_text(&b->last);
    size_t keep = 0;

    if (entry->n_runs > BLOCK_RUNS_MAX)
        return err_set(e, ERR_FAILED, "%s lies in too many pieces", path);
    if (b->n == 0)
        b->first = mem_strdup(path);
    else
        while (path[keep] != '\0' && path[keep] == last[keep])
            keep++;
    mp_add_list(&b->entries, short_form ? 3 : 4);
    mp_add_int(&b->entries, (int64_t)keep);
    mp_add_bin(&b->entries, path + keep, strlen(path + keep));
    buf_clear(&b->last);
    buf_add_str(&b->last, path);
    mp_add_int(&b->entries, entry->kind);
    if (is_file && !short_form)
        add_runs(b, entry);
    else if (!short_form)
        mp_add_bin(&b->entries, entry->target, strlen(entry->target));
    for (size_t i = 0; is_file && i < entry->n_runs; i++)
        if (runs[i].part != PACK_HOLE) {
            b->has_named = true;
            b->part = runs[i].part;
            b->next_piece = runs[i].first + runs[i].n;
        }
    b->n++;
    return 0;
}

/* ---- end of a block ---- */

void block_writer_end(struct block_writer *b, struct block_closed *closed)
{
    struct buf body = { 0 };
    size_t room, n;

    mp_add_list(&body, b->n);
    buf_add(&body, b->entries.bytes, b->entries.n);
    *closed = (struct block_closed){ .body_bytes = body.n, .first = b->first, .n = b->n };
    room = ZSTD_compressBound(body.n);
    n = ZSTD_compress(buf_reserve(&closed->body, room), room, body.bytes, body.n, LEVEL);
    if (ZSTD_isError(n)) { /* the buffer is large enough, so the cause is a lack of memory */
        fprintf(stderr, "ludwig: zstd: %s\n", ZSTD_getErrorName(n));
        abort();
    }
    buf_added(&closed->body, n);
    /* The body may wait long for its parts, and is much smaller than its buffer. */
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

static const struct field fields[] = {
    FIELD(struct stored_block, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct stored_block, lists, FIELD_BYTES, FIELD_REQUIRED, BLOCK_PARTS_MAX *DIGEST_BYTES),
    FIELD(struct stored_block, body_bytes, FIELD_INT, FIELD_REQUIRED, BLOCK_BODY_BYTES_MAX),
    FIELD(struct stored_block, body, FIELD_BYTES, FIELD_REQUIRED, PACK_BLOCK_BYTES_MAX),
};

const struct schema block_schema = SCHEMA(struct stored_block, "block", fields);

_Static_assert(sizeof(struct digest) == DIGEST_BYTES, "digests lie one behind the other");

static int unpack_body(struct bytes from, size_t size, struct buf *out, struct err *e)
{
    size_t n;

    if (from.n == 0 || ZSTD_findFrameCompressedSize(from.data, from.n) != from.n)
        return err_set(e, ERR_PROTOCOL, "zstd: not one whole frame");
    n = ZSTD_decompress(buf_reserve(out, size), size, from.data, from.n);
    if (ZSTD_isError(n))
        return err_set(e, ERR_PROTOCOL, "zstd: %s", ZSTD_getErrorName(n));
    if (n != size)
        return err_set(e, ERR_PROTOCOL, "zstd: %zu bytes where %zu were declared", n, size);
    buf_added(out, n);
    return 0;
}

static int open_stored(struct block_reader *b, struct bytes stored, struct err *e)
{
    struct stored_block s;
    struct buf body = { 0 };
    struct value v;
    int result;

    if (schema_read(&block_schema, stored, b->arena, &s, e) < 0)
        return -1;
    if (s.v != PACK_VERSION)
        return err_set(e, ERR_PROTOCOL, "version %" PRId64 ", and only %d is known here", s.v,
                       PACK_VERSION);
    if (s.lists.n % DIGEST_BYTES != 0)
        return err_set(e, ERR_PROTOCOL, "lists: not whole digests");
    b->lists = (const struct digest *)s.lists.data;
    b->n_lists = s.lists.n / DIGEST_BYTES;
    result = unpack_body(s.body, (size_t)s.body_bytes, &body, e);
    if (result == 0)
        result = mp_read(body.bytes, body.n, b->arena, &v, e);
    if (result == 0 && v.type != VALUE_LIST)
        result = err_set(e, ERR_PROTOCOL, "its body is no list");
    if (result == 0) {
        b->items = v.list.items;
        b->n = v.list.n;
    }
    buf_free(&body);
    return result;
}

int block_open(struct block_reader *b, const struct digest *name, struct bytes stored,
               struct err *e)
{
    if (b->arena == NULL)
        b->arena = arena_create();
    arena_reset(b->arena);
    b->next = b->n = 0;
    b->has_named = false;
    if (pack_check_digest(name, stored, PACK_BLOCK, e) < 0)
        return -1;
    return open_stored(b, stored, e) < 0 ? err_wrap(e, "block") : 0;
}

void block_close(struct block_reader *b)
{
    arena_destroy(b->arena);
    buf_free(&b->path);
    free(b->runs);
    *b = (struct block_reader){ 0 };
}

/* ---- entries ---- */

static bool is_int(const struct value *v, int64_t min, int64_t max)
{
    return v->type == VALUE_INT && v->i >= min && v->i <= max;
}

static bool has_nul(const struct value *v)
{
    return v->str.n > 0 && memchr(v->str.s, '\0', v->str.n) != NULL;
}

static struct pack_run *room_for_runs(struct block_reader *b, size_t n)
{
    if (n > b->capacity) {
        b->runs = mem_resize(b->runs, n, sizeof *b->runs);
        b->capacity = n;
    }
    return b->runs;
}

static int take_run(struct block_reader *b, const struct value *items, struct pack_run *run)
{
    if (is_int(&items[0], -1, -1)) {
        if (!is_int(&items[1], 1, PACK_FILE_BYTES_MAX / PACK_PIECE_BYTES) ||
            !is_int(&items[2], 0, 0))
            return -1;
        *run = (struct pack_run){ .part = PACK_HOLE,
                                  .bytes = (uint64_t)items[1].i * PACK_PIECE_BYTES };
        return 0;
    }
    if (!is_int(&items[0], 0, (int64_t)b->n_lists - 1) ||
        !is_int(&items[1], 0, PACK_PIECES_MAX - 1) || !is_int(&items[2], 1, PACK_PIECES_MAX))
        return -1;
    *run = (struct pack_run){ (uint32_t)items[0].i, (uint32_t)items[1].i, (uint32_t)items[2].i, 0 };
    b->has_named = true;
    b->part = run->part;
    b->next_piece = run->first + run->n;
    return 0;
}

/* Reads the runs of a file; v NULL: its pieces follow the piece that was named last. */
static int take_runs(struct block_reader *b, const struct value *v, struct pack_entry *entry,
                     struct err *e)
{
    struct pack_run *runs;

    if (v == NULL) {
        if (!b->has_named || b->next_piece >= PACK_PIECES_MAX)
            return err_set(e, ERR_PROTOCOL, "%s: follows nothing", buf_text(&b->path));
        entry->runs = runs = room_for_runs(b, 1);
        entry->n_runs = 1;
        *runs = (struct pack_run){ b->part, b->next_piece++, 1, 0 };
        return 0;
    }
    if (v->type != VALUE_LIST || v->list.n % 3 != 0 || v->list.n / 3 > BLOCK_RUNS_MAX)
        return err_set(e, ERR_PROTOCOL, "%s: where it lies is no list of threes",
                       buf_text(&b->path));
    entry->n_runs = v->list.n / 3;
    entry->runs = runs = room_for_runs(b, entry->n_runs);
    for (size_t i = 0; i < entry->n_runs; i++) {
        if (take_run(b, &v->list.items[3 * i], &runs[i]) < 0)
            return err_set(e, ERR_PROTOCOL, "%s: lies where nothing is", buf_text(&b->path));
        if (i > 0 && runs[i].part == PACK_HOLE && runs[i - 1].part == PACK_HOLE)
            return err_set(e, ERR_PROTOCOL, "%s: two holes that are one", buf_text(&b->path));
    }
    return 0;
}

static int take_entry(struct block_reader *b, const struct value *v, struct pack_entry *entry,
                      struct err *e)
{
    const struct value *items = v->list.items, *rest = &items[1],
                       *fourth = v->list.n == 4 ? &items[3] : NULL;
    size_t n = b->next > 0 ? b->path.n : 0;

    if (!is_int(&items[0], 0, (int64_t)n) || rest->type != VALUE_BIN ||
        rest->str.n > PACK_PATH_MAX || has_nul(rest) ||
        (size_t)items[0].i + rest->str.n > PACK_PATH_MAX)
        return err_set(e, ERR_PROTOCOL, "entry %zu: that is no path", b->next);
    b->path.n = (size_t)items[0].i;
    buf_add(&b->path, rest->str.s, rest->str.n);
    *entry = (struct pack_entry){ .path = buf_text(&b->path), .kind = (enum pack_kind)items[2].i };
    if (entry->kind == PACK_FILE || entry->kind == PACK_PROGRAM)
        return take_runs(b, fourth, entry, e);
    if ((entry->kind == PACK_FOLDER) != (fourth == NULL))
        return err_set(e, ERR_PROTOCOL, "%s: too few or too many items", entry->path);
    if (fourth == NULL)
        return 0;
    if (fourth->type != VALUE_BIN || fourth->str.n == 0 || fourth->str.n > PACK_PATH_MAX ||
        has_nul(fourth))
        return err_set(e, ERR_PROTOCOL, "%s: a link that points nowhere", entry->path);
    entry->target = fourth->str.s;
    return 0;
}

int block_next(struct block_reader *b, struct pack_entry *entry, struct err *e)
{
    const struct value *v;

    if (b->next >= b->n)
        return 0;
    v = &b->items[b->next];
    if (v->type != VALUE_LIST || v->list.n < 3 || v->list.n > 4 ||
        !is_int(&v->list.items[2], 0, PACK_KIND_COUNT - 1))
        return err_set(e, ERR_PROTOCOL, "block: entry %zu is none", b->next);
    if (take_entry(b, v, entry, e) < 0)
        return err_wrap(e, "block");
    b->next++;
    return 1;
}

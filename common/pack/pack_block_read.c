/* SPDX-License-Identifier: MIT */
/* pack_block_read.c - some thousand entries of a tree, from bytes that anybody may have written */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/msgpack.h"
#include "common/pack/pack_block.h"
#include "common/pack/pack_block_form.h"
#include "common/pack/pack_bytes.h"
#include "common/pack/pack_path.h"

static const struct field fields[] = {
    FIELD(struct stored_block, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct stored_block, lists, FIELD_BYTES, FIELD_REQUIRED, BLOCK_PARTS_MAX *DIGEST_BYTES),
    FIELD(struct stored_block, body_bytes, FIELD_INT, FIELD_REQUIRED, BLOCK_BODY_BYTES_MAX),
    FIELD(struct stored_block, body, FIELD_BYTES, FIELD_REQUIRED, PACK_BLOCK_BYTES_MAX),
};

const struct schema block_schema = SCHEMA(struct stored_block, "block", fields);

_Static_assert(sizeof(struct digest) == DIGEST_BYTES, "digests lie one behind the other");

static int open_body(struct block_reader *b, const struct stored_block *s, struct err *e)
{
    struct buf body = { 0 };
    struct value v;
    int result = pack_uncompress(s->body, (size_t)s->body_bytes, &body, e);

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

static int open_stored(struct block_reader *b, struct bytes stored, struct err *e)
{
    struct stored_block s;

    if (schema_read(&block_schema, stored, b->arena, &s, e) < 0)
        return -1;
    if (s.v != PACK_VERSION)
        return err_set(e, ERR_PROTOCOL, "version %" PRId64 ", and only %d is known here", s.v,
                       PACK_VERSION);
    if (s.lists.n % DIGEST_BYTES != 0)
        return err_set(e, ERR_PROTOCOL, "lists: not whole digests");
    b->lists = (const struct digest *)s.lists.data;
    b->n_lists = s.lists.n / DIGEST_BYTES;
    return open_body(b, &s, e);
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

static int take_path(struct block_reader *b, const struct value *keep, const struct value *rest,
                     struct err *e)
{
    size_t n = b->next > 0 ? b->path.n : 0;

    if (!is_int(keep, 0, (int64_t)n) || rest->type != VALUE_BIN || rest->str.n > PACK_PATH_MAX ||
        has_nul(rest) || (size_t)keep->i + rest->str.n > PACK_PATH_MAX)
        return err_set(e, ERR_PROTOCOL, "entry %zu: that is no path", b->next);
    b->path.n = (size_t)keep->i;
    buf_add(&b->path, rest->str.s, rest->str.n);
    return 0;
}

static int take_target(const struct block_reader *b, const struct value *v,
                       struct pack_entry *entry, struct err *e)
{
    if (v->type != VALUE_BIN || v->str.n == 0 || v->str.n > PACK_PATH_MAX || has_nul(v))
        return err_set(e, ERR_PROTOCOL, "%s: a link that points nowhere", buf_text(&b->path));
    entry->target = v->str.s;
    return 0;
}

static int take_hole(const struct value *items, struct pack_run *run)
{
    if (!is_int(&items[1], 1, PACK_FILE_BYTES_MAX / PACK_PIECE_BYTES) || !is_int(&items[2], 0, 0))
        return -1;
    *run = (struct pack_run){ .part = PACK_HOLE, .bytes = (uint64_t)items[1].i * PACK_PIECE_BYTES };
    return 0;
}

static int take_run(struct block_reader *b, const struct value *items, struct pack_run *run)
{
    if (is_int(&items[0], -1, -1))
        return take_hole(items, run);
    if (!is_int(&items[0], 0, (int64_t)b->n_lists - 1) ||
        !is_int(&items[1], 0, PACK_PIECES_MAX - 1) || !is_int(&items[2], 1, PACK_PIECES_MAX))
        return -1;
    *run = (struct pack_run){ (uint32_t)items[0].i, (uint32_t)items[1].i, (uint32_t)items[2].i, 0 };
    b->has_named = true;
    b->part = run->part;
    b->next_piece = run->first + run->n;
    return 0;
}

static struct pack_run *room_for_runs(struct block_reader *b, size_t n)
{
    if (n > b->capacity) {
        b->runs = mem_resize(b->runs, n, sizeof *b->runs);
        b->capacity = n;
    }
    return b->runs;
}

static int take_runs(struct block_reader *b, const struct value *v, struct pack_entry *entry,
                     struct err *e)
{
    struct pack_run *runs;

    if (v->type != VALUE_LIST || v->list.n % 3 != 0 || v->list.n / 3 > BLOCK_RUNS_MAX)
        return err_set(e, ERR_PROTOCOL, "%s: where it lies is no list of threes",
                       buf_text(&b->path));
    entry->n_runs = v->list.n / 3;
    runs = room_for_runs(b, entry->n_runs);
    entry->runs = runs;
    for (size_t i = 0; i < entry->n_runs; i++) {
        if (take_run(b, &v->list.items[3 * i], &runs[i]) < 0)
            return err_set(e, ERR_PROTOCOL, "%s: lies where nothing is", buf_text(&b->path));
        if (i > 0 && runs[i].part == PACK_HOLE && runs[i - 1].part == PACK_HOLE)
            return err_set(e, ERR_PROTOCOL, "%s: two holes that are one", buf_text(&b->path));
    }
    return 0;
}

static int take_follower(struct block_reader *b, struct pack_entry *entry, struct err *e)
{
    struct pack_run *run = room_for_runs(b, 1);

    if (!b->has_named || b->next_piece >= PACK_PIECES_MAX)
        return err_set(e, ERR_PROTOCOL, "%s: follows nothing", buf_text(&b->path));
    *run = (struct pack_run){ b->part, b->next_piece++, 1, 0 };
    entry->runs = run;
    entry->n_runs = 1;
    return 0;
}

static int take_fourth(struct block_reader *b, const struct value *v, struct pack_entry *entry,
                       struct err *e)
{
    switch (entry->kind) {
    case PACK_FILE:
    case PACK_PROGRAM: return v != NULL ? take_runs(b, v, entry, e) : take_follower(b, entry, e);
    case PACK_SYMLINK:
    case PACK_HARD_LINK:
        if (v != NULL)
            return take_target(b, v, entry, e);
        break;
    default:
        if (v == NULL)
            return 0;
    }
    return err_set(e, ERR_PROTOCOL, "%s: too few or too many items", buf_text(&b->path));
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
    if (take_path(b, &v->list.items[0], &v->list.items[1], e) < 0)
        return err_wrap(e, "block");
    *entry = (struct pack_entry){ .path = buf_text(&b->path),
                                  .kind = (enum pack_kind)v->list.items[2].i };
    if (take_fourth(b, v->list.n == 4 ? &v->list.items[3] : NULL, entry, e) < 0)
        return err_wrap(e, "block");
    b->next++;
    return 1;
}

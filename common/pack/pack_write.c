/* SPDX-License-Identifier: MIT */
/* pack_write.c - a tree becomes parts, lists, blocks and a manifest, in one pass */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/pack/pack_write_internal.h"

enum {
    SMALL, /* slot of parts with whole files */
    LARGE,
    PENDING_MAX_BYTES = 8 * 1024 * 1024,
    SEEN_MAX = 768 * 1024, /* pieces of this tree that are remembered: 16 MiB */
    SEEN_ENTRY_BITS = 16,  /* of what is remembered of one; the rest is its part */
    SEEN_PARTS_MAX = UINT16_MAX
};

_Static_assert(PACK_PIECES_MAX <= 1 << SEEN_ENTRY_BITS, "the number of a piece in its part");

struct pack_writer *pack_writer_create(const struct pack_sink *sink)
{
    struct pack_writer *w = mem_alloc(sizeof *w);

    w->sink = *sink;
    w->tree = pack_tree_create();
    w->hasher = hasher_create();
    w->block = block_writer_create();
    w->seen = pack_seen_create(SEEN_MAX);
    w->by_list = pack_seen_create(PACK_PARTS_MAX);
    w->slots[SMALL] = part_writer_create(&w->sink, SMALL, true);
    w->slots[LARGE] = part_writer_create(&w->sink, LARGE, false);
    return w;
}

void pack_writer_destroy(struct pack_writer *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < PACK_SLOTS; i++)
        part_writer_destroy(w->slots[i]);
    for (size_t i = 0; i < w->n_pending; i++)
        block_closed_free(&w->pending[i]);
    for (size_t i = 0; i < w->n_blocks; i++)
        free((void *)(uintptr_t)w->blocks[i].first.data);
    free(w->pending);
    free(w->blocks);
    free(w->parts);
    free(w->part_done);
    free(w->runs);
    free(w->digests);
    free(w->piece);
    free(w->files.pieces);
    free((void *)(uintptr_t)w->files.path);
    block_writer_destroy(w->block);
    pack_seen_destroy(w->seen);
    pack_seen_destroy(w->by_list);
    pack_tree_destroy(w->tree);
    hasher_destroy(w->hasher);
    pack_order_free(&w->order);
    free(w);
}

/* ---- parts ---- */

int pack_new_part(struct pack_writer *w, uint32_t *part, struct err *e)
{
    size_t capacity = w->parts_capacity;

    if (w->n_parts == PACK_PARTS_MAX)
        return err_set(e, ERR_FAILED, "a tree of more than %d parts cannot be packed",
                       PACK_PARTS_MAX);
    mem_grow((void **)&w->parts, &capacity, w->n_parts, sizeof *w->parts);
    mem_grow((void **)&w->part_done, &w->parts_capacity, w->n_parts, sizeof *w->part_done);
    w->part_done[w->n_parts] = false;
    *part = (uint32_t)w->n_parts++;
    return 0;
}

void pack_part_is_done(struct pack_writer *w, uint32_t part, const struct pack_part *what)
{
    w->parts[part] = *what;
    w->part_done[part] = true;
    pack_seen_add(w->by_list, &what->list, part);
}

static int flush_blocks(struct pack_writer *w, struct err *e);

static int end_part(struct pack_writer *w, unsigned slot, struct err *e)
{
    struct pack_part part;
    size_t list_bytes;

    if (part_writer_count(w->slots[slot]) == 0)
        return 0;
    if (part_writer_end(w->slots[slot], &part, &list_bytes, e) < 0)
        return -1;
    w->summary.stored_bytes += (int64_t)part.stored_bytes;
    w->summary.manifest_bytes += (int64_t)list_bytes;
    pack_part_is_done(w, w->open[slot], &part);
    return flush_blocks(w, e);
}

int pack_store_piece(struct pack_writer *w, bool is_whole_file, const struct part_piece *piece,
                     struct pack_run *run, struct err *e)
{
    unsigned slot = is_whole_file ? SMALL : LARGE;
    struct part_writer *to = w->slots[slot];

    if (part_writer_count(to) > 0 && !part_writer_has_room(to, piece->content.n) &&
        end_part(w, slot, e) < 0)
        return -1;
    if (part_writer_count(to) == 0 && pack_new_part(w, &w->open[slot], e) < 0)
        return -1;
    *run = (struct pack_run){ w->open[slot], part_writer_count(to), 1, piece->content.n };
    if (part_writer_add(to, piece, e) < 0)
        return -1;
    if (run->part < SEEN_PARTS_MAX)
        pack_seen_add(w->seen, &piece->digest, run->part << SEEN_ENTRY_BITS | run->first);
    w->summary.new_bytes += (int64_t)piece->content.n;
    return 0;
}

/* ---- what need not be stored ---- */

/* An older part becomes one of the manifest's when something of it is used. */
static bool use_part(struct pack_writer *w, const struct pack_part *part, uint32_t *number)
{
    if (!pack_seen_find(w->by_list, &part->list, number)) {
        if (pack_new_part(w, number, NULL) < 0)
            return false;
        pack_part_is_done(w, *number, part);
    }
    return digest_equal(&w->parts[*number].list, &part->list);
}

bool pack_find_piece(struct pack_writer *w, const struct digest *piece, struct pack_run *run)
{
    struct pack_place where;
    uint32_t seen, part;

    if (pack_seen_find(w->seen, piece, &seen)) {
        *run = (struct pack_run){ .part = seen >> SEEN_ENTRY_BITS,
                                  .first = seen & ((1u << SEEN_ENTRY_BITS) - 1),
                                  .n = 1 };
        return true;
    }
    if (w->sink.known == NULL || !w->sink.known(w->sink.context, piece, &where) ||
        !use_part(w, where.part, &part))
        return false;
    *run = (struct pack_run){ .part = part, .first = where.entry, .n = 1 };
    return true;
}

/* ---- blocks ---- */

static bool is_ready(const struct pack_writer *w, const struct block_closed *c)
{
    for (size_t i = 0; i < c->n_parts; i++)
        if (!w->part_done[c->parts[i]])
            return false;
    return true;
}

static size_t pending_bytes_of(const struct block_closed *c)
{
    return sizeof *c + c->body.n + c->n_parts * sizeof *c->parts;
}

/* The name goes to the manifest, and with it the first path. */
static void note_block(struct pack_writer *w, const struct digest *name, struct block_closed *c)
{
    mem_grow((void **)&w->blocks, &w->blocks_capacity, w->n_blocks, sizeof *w->blocks);
    w->blocks[w->n_blocks++] = (struct manifest_block){
        *name, { (const uint8_t *)c->first, strlen(c->first) }, (int64_t)c->n
    };
    c->first = NULL;
}

static int write_block(struct pack_writer *w, struct block_closed *c, struct err *e)
{
    struct buf lists = { 0 }, stored = { 0 };
    struct digest name;
    int result;

    for (size_t i = 0; i < c->n_parts; i++)
        buf_add(&lists, w->parts[c->parts[i]].list.bytes, DIGEST_BYTES);
    result = block_encode(c, buf_bytes(&lists), &stored, e);
    if (result == 0) {
        digest_of(stored.bytes, stored.n, &name);
        w->summary.manifest_bytes += (int64_t)stored.n;
        note_block(w, &name, c);
        result = w->sink.object(w->sink.context, PACK_BLOCK, &name, buf_bytes(&stored), e);
    }
    buf_free(&lists);
    buf_free(&stored);
    return result;
}

/* Writes the blocks whose parts are whole, in their order. */
static int flush_blocks(struct pack_writer *w, struct err *e)
{
    size_t n = 0;
    int result = 0;

    while (n < w->n_pending && result == 0 && is_ready(w, &w->pending[n])) {
        w->pending_bytes -= pending_bytes_of(&w->pending[n]);
        result = write_block(w, &w->pending[n], e);
        block_closed_free(&w->pending[n]);
        n++;
    }
    w->n_pending -= n;
    if (n > 0)
        memmove(w->pending, w->pending + n, w->n_pending * sizeof *w->pending);
    return result;
}

static int end_parts(struct pack_writer *w, struct err *e)
{
    for (unsigned slot = 0; slot < PACK_SLOTS; slot++)
        if (end_part(w, slot, e) < 0)
            return -1;
    return pack_end_files(w, e) < 0 ? -1 : flush_blocks(w, e);
}

/* A part that is not full yet is ended rather than that ever more blocks wait for it. */
static int end_block(struct pack_writer *w, struct err *e)
{
    if (w->n_blocks + w->n_pending == PACK_BLOCKS_MAX)
        return err_set(e, ERR_FAILED, "a tree with so many entries cannot be packed");
    mem_grow((void **)&w->pending, &w->pending_capacity, w->n_pending, sizeof *w->pending);
    block_writer_end(w->block, &w->pending[w->n_pending]);
    w->pending_bytes += pending_bytes_of(&w->pending[w->n_pending]);
    w->n_pending++;
    if (flush_blocks(w, e) < 0)
        return -1;
    return w->pending_bytes > PENDING_MAX_BYTES ? end_parts(w, e) : 0;
}

/* ---- entries ---- */

static void count(struct pack_totals *t, const struct pack_entry *entry)
{
    switch (entry->kind) {
    case PACK_FOLDER: t->folders++; break;
    case PACK_SYMLINK: t->links++; break;
    default: t->files++; break;
    }
    t->bytes += (int64_t)entry->size;
    for (size_t i = 0; i < entry->n_runs; i++)
        if (entry->runs[i].part == PACK_HOLE)
            t->hole_bytes += (int64_t)entry->runs[i].bytes;
}

int pack_add_entry(struct pack_writer *w, const struct pack_entry *entry, struct err *e)
{
    if (block_writer_is_cut_before(w->block, entry->path, entry->kind) && end_block(w, e) < 0)
        return -1;
    if (block_writer_add(w->block, entry, e) < 0)
        return -1;
    count(&w->summary.totals, entry);
    pack_tree_entry(w->tree, entry);
    return 0;
}

int pack_add_folder(struct pack_writer *w, const char *path, struct err *e)
{
    struct pack_entry entry = { .path = path, .kind = PACK_FOLDER };

    if (pack_order_take(&w->order, path, entry.kind, e) < 0)
        return -1;
    return pack_add_entry(w, &entry, e);
}

int pack_add_symlink(struct pack_writer *w, const char *path, const char *target, struct err *e)
{
    struct pack_entry entry = { .path = path, .target = target, .kind = PACK_SYMLINK };
    size_t n = strlen(target);

    if (n == 0 || n > PACK_PATH_MAX)
        return err_set(e, ERR_FAILED, "%s points to what is no path", path);
    if (pack_order_take(&w->order, path, entry.kind, e) < 0)
        return -1;
    return pack_add_entry(w, &entry, e);
}

int pack_add_hard_link(struct pack_writer *w, const char *path, const char *target, struct err *e)
{
    struct pack_entry entry = { .path = path, .target = target, .kind = PACK_HARD_LINK };

    if (pack_path_check(target, strlen(target), e) < 0 ||
        pack_order_take(&w->order, path, entry.kind, e) < 0)
        return -1;
    if (pack_path_compare(target, path) >= 0)
        return err_set(e, ERR_PROTOCOL, "%s is linked to what did not come before", path);
    return pack_add_entry(w, &entry, e);
}

int pack_end(struct pack_writer *w, struct pack_summary *summary, struct err *e)
{
    struct pack_manifest m = { 0 };
    struct buf stored = { 0 };
    int result;

    if ((block_writer_count(w->block) > 0 && end_block(w, e) < 0) || end_parts(w, e) < 0)
        return -1;
    pack_tree_end(w->tree, &w->summary.tree);
    m = (struct pack_manifest){ w->summary.tree, w->summary.totals, w->parts,
                                w->n_parts,      w->blocks,         w->n_blocks };
    manifest_encode(&m, &stored);
    digest_of(stored.bytes, stored.n, &w->summary.id);
    w->summary.manifest_bytes += (int64_t)stored.n;
    if (stored.n > PACK_MANIFEST_BYTES_MAX)
        result = err_set(e, ERR_FAILED, "a tree with so many entries cannot be packed");
    else
        result =
            w->sink.object(w->sink.context, PACK_MANIFEST, &w->summary.id, buf_bytes(&stored), e);
    *summary = w->summary;
    buf_free(&stored);
    return result;
}

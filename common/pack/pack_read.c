/* SPDX-License-Identifier: MIT */
/* pack_read.c - the entries of a packed tree, each checked */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/base/mem.h"
#include "common/pack/pack_block.h"
#include "common/pack/pack_read.h"
#include "common/pack/pack_tree.h"

struct pack_reader {
    struct pack_source source;
    struct arena *arena;
    struct pack_manifest manifest;
    struct hash_table *by_list; /* index of the part with a list's digest */
    struct pack_list **lists;   /* by part; NULL: not read yet */
    size_t next_block;
    struct block_reader block;
    uint32_t *parts;           /* the manifest's index of each part of the block */
    struct pack_totals totals; /* so far */
    struct pack_tree *tree;
    struct buf stored;
};

static int fetch(struct pack_reader *r, enum pack_object kind, const struct digest *name,
                 struct err *e)
{
    buf_clear(&r->stored);
    return r->source.fetch(r->source.context, kind, name, pack_object_max(kind), &r->stored, e);
}

struct pack_reader *pack_open(const struct pack_source *source, const struct digest *id,
                              struct err *e)
{
    struct pack_reader *r = mem_alloc(sizeof *r);
    struct pack_manifest *m = &r->manifest;

    r->source = *source;
    r->arena = arena_create();
    r->by_list = hash_table_create(PACK_PARTS_MAX);
    r->tree = pack_tree_create();
    if (fetch(r, PACK_MANIFEST, id, e) < 0 ||
        manifest_decode(id, buf_bytes(&r->stored), r->arena, m, e) < 0) {
        pack_close(r);
        return NULL;
    }
    for (size_t i = 0; i < m->n_parts; i++)
        hash_table_add(r->by_list, &m->parts[i].list, (uint32_t)i);
    r->lists = mem_alloc(m->n_parts * sizeof(struct pack_list *));
    return r;
}

void pack_close(struct pack_reader *r)
{
    if (r == NULL)
        return;
    if (r->lists != NULL)
        for (size_t i = 0; i < r->manifest.n_parts; i++)
            pack_list_destroy(r->lists[i]);
    free(r->lists);
    free(r->parts);
    block_close(&r->block);
    pack_tree_destroy(r->tree);
    hash_table_destroy(r->by_list);
    buf_free(&r->stored);
    arena_destroy(r->arena);
    free(r);
}

const struct pack_totals *pack_totals(const struct pack_reader *r)
{
    return &r->manifest.totals;
}

const struct digest *pack_tree(const struct pack_reader *r)
{
    return &r->manifest.tree;
}

const struct pack_part *pack_parts(const struct pack_reader *r, size_t *n)
{
    *n = r->manifest.n_parts;
    return r->manifest.parts;
}

/* ---- lists ---- */

const struct pack_list *pack_list_of(struct pack_reader *r, size_t part, struct err *e)
{
    const struct pack_part *p = &r->manifest.parts[part];
    struct pack_list *l;

    if (r->lists[part] != NULL)
        return r->lists[part];
    if (fetch(r, PACK_LIST, &p->list, e) < 0)
        return NULL;
    l = pack_list_decode(&p->list, buf_bytes(&r->stored), e);
    if (l != NULL && (p->stored_bytes != l->part.stored_bytes || p->form != l->part.form)) {
        err_set(e, ERR_PROTOCOL, "a list is not that of its part");
        pack_list_destroy(l);
        return NULL;
    }
    r->lists[part] = l;
    return l;
}

const struct pack_list *pack_list_read(const struct pack_reader *r, size_t part)
{
    assert(r->lists[part] != NULL);
    return r->lists[part];
}

/* ---- blocks ---- */

static int enter_block(struct pack_reader *r, struct err *e)
{
    const struct manifest_block *row = &r->manifest.blocks[r->next_block];
    const struct digest *lists;

    if (fetch(r, PACK_BLOCK, &row->name, e) < 0 ||
        block_open(&r->block, &row->name, buf_bytes(&r->stored), e) < 0)
        return -1;
    lists = r->block.lists;
    r->parts = mem_resize(r->parts, r->block.n_lists, sizeof *r->parts);
    for (size_t i = 0; i < r->block.n_lists; i++)
        if (!hash_table_find(r->by_list, &lists[i], &r->parts[i]) ||
            !digest_equal(&r->manifest.parts[r->parts[i]].list, &lists[i]))
            return err_set(e, ERR_PROTOCOL, "a block refers to a part that the manifest has not");
    if (r->block.n == 0 || r->block.n != (uint64_t)row->entries)
        return err_set(e, ERR_PROTOCOL, "a block has not as many entries as were declared");
    r->next_block++;
    return 0;
}

/* ---- entries ---- */

/* Turns a run's part into the manifest's index, sets its bytes, and refuses a piece that is too
 * small for its place. */
static int resolve_run(struct pack_reader *r, struct pack_run *run, bool is_last, bool is_all,
                       struct err *e)
{
    const struct pack_list *l;
    uint64_t pieces_end = 0;

    if (run->part == PACK_HOLE) {
        pack_tree_hole(r->tree, run->bytes / PACK_PIECE_BYTES);
        return 0;
    }
    run->part = r->parts[run->part];
    l = pack_list_of(r, run->part, e);
    if (l == NULL)
        return -1;
    if (l->part.form == PACK_FILES && (run->n != 1 || !is_all))
        return err_set(e, ERR_PROTOCOL, "what is a file of its own is not all of it");
    if (run->first >= l->n || run->n > l->n - run->first)
        return err_set(e, ERR_PROTOCOL, "it lies behind the end of a part");
    for (uint32_t i = 0; i < run->n; i++) {
        const struct pack_piece *piece = &l->pieces[run->first + i];

        if (piece->size != PACK_PIECE_BYTES && (!is_last || i + 1 < run->n))
            return err_set(e, ERR_PROTOCOL, "a piece in the middle is too small");
        pack_tree_piece(r->tree, &piece->digest);
        pieces_end += piece->size;
    }
    run->bytes = pieces_end;
    return 0;
}

static int resolve_runs(struct pack_reader *r, struct pack_entry *entry, struct err *e)
{
    /* The runs may be changed, as they are the block reader's, which fills them anew for each
     * entry. */
    struct pack_run *runs = r->block.runs;

    for (size_t i = 0; i < entry->n_runs; i++) {
        if (resolve_run(r, &runs[i], i + 1 == entry->n_runs, entry->n_runs == 1, e) < 0)
            return -1;
        entry->size += runs[i].bytes;
        if (entry->size > PACK_FILE_BYTES_MAX)
            return err_set(e, ERR_PROTOCOL, "it is larger than any file may be");
        if (runs[i].part == PACK_HOLE)
            r->totals.hole_bytes += (int64_t)runs[i].bytes;
    }
    return 0;
}

static int count(struct pack_reader *r, const struct pack_entry *entry, struct err *e)
{
    const struct pack_totals *so_far = &r->totals, *all = &r->manifest.totals;

    switch (entry->kind) {
    case PACK_FOLDER: r->totals.folders++; break;
    case PACK_SYMLINK: r->totals.links++; break;
    default: r->totals.files++; break;
    }
    r->totals.bytes += (int64_t)entry->size;
    if (so_far->folders > all->folders || so_far->files > all->files ||
        so_far->links > all->links || so_far->bytes > all->bytes ||
        so_far->bytes - so_far->hole_bytes > all->bytes - all->hole_bytes)
        return err_set(e, ERR_PROTOCOL, "with it there is more than was declared");
    return 0;
}

static int take_entry(struct pack_reader *r, struct pack_entry *entry, struct err *e)
{
    const struct bytes *first = &r->manifest.blocks[r->next_block - 1].first;

    if (r->block.next == 1 &&
        (first->n != strlen(entry->path) || memcmp(first->data, entry->path, first->n) != 0))
        return err_set(e, ERR_PROTOCOL, "a block begins with another path than was declared");
    if (pack_tree_check(r->tree, entry->path, entry->kind, e) < 0)
        return -1;
    if (resolve_runs(r, entry, e) < 0)
        return err_wrap(e, "%s", entry->path);
    if (entry->kind == PACK_HARD_LINK) {
        if (pack_path_check(entry->target, strlen(entry->target), e) < 0)
            return err_wrap(e, "%s", entry->path);
        if (pack_path_compare(entry->target, entry->path) >= 0)
            return err_set(e, ERR_PROTOCOL, "%s: a hard link to what did not come before",
                           entry->path);
    }
    if (count(r, entry, e) < 0)
        return err_wrap(e, "%s", entry->path);
    pack_tree_entry(r->tree, entry);
    return 0;
}

static int finish_tree(struct pack_reader *r, struct err *e)
{
    struct digest tree;

    if (memcmp(&r->totals, &r->manifest.totals, sizeof r->totals) != 0)
        return err_set(e, ERR_PROTOCOL, "there is less than was declared");
    pack_tree_end(r->tree, &tree);
    if (!digest_equal(&tree, &r->manifest.tree))
        return err_set(e, ERR_PROTOCOL, "what is in the tree is not what was declared");
    return 0;
}

int pack_next(struct pack_reader *r, struct pack_entry *entry, struct err *e)
{
    int got;

    while ((got = block_next(&r->block, entry, e)) == 0) {
        if (r->next_block == r->manifest.n_blocks)
            return finish_tree(r, e) < 0 ? err_wrap(e, "dataset") : 0;
        if (enter_block(r, e) < 0)
            return err_wrap(e, "dataset");
    }
    return got < 0 || take_entry(r, entry, e) < 0 ? err_wrap(e, "dataset") : 1;
}

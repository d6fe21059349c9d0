/* SPDX-License-Identifier: MIT */
/* cache_plan.c - all entries of a dataset that is to be staged */

#include "worker/stager/cache_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/pack/pack.h"

enum { BLOCK_BYTES = 4096, ENTRIES_MAX = 64 * 1024 * 1024 };

const char *plan_path(const struct plan *p, size_t i)
{
    return (const char *)p->names.bytes + p->rows[i].path_at;
}

const char *plan_target(const struct plan *p, size_t i)
{
    return (const char *)p->targets.bytes + p->entries[i].target_at;
}

static bool is_zero(const uint8_t *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

bool plan_is_file(const struct plan *p, size_t i)
{
    return p->rows[i].kind == PACK_FILE || p->rows[i].kind == PACK_PROGRAM;
}

/* ---- contents ---- */

static void add_hole(struct hasher *h, uint64_t n_pieces)
{
    static const uint8_t zeros[DIGEST_BYTES];
    uint8_t number[8];

    for (size_t i = 0; i < sizeof number; i++)
        number[i] = (uint8_t)(n_pieces >> (8 * i));
    hasher_add(h, zeros, sizeof zeros);
    hasher_add(h, number, sizeof number);
}

static void content_of_runs(struct plan *p, const struct pack_entry *entry, struct digest *content)
{
    struct hasher *h;

    *content = (struct digest){ { 0 } };
    if (entry->n_runs == 0)
        return;
    if (entry->n_runs == 1 && entry->runs->n == 1 && entry->runs->part != PACK_HOLE) {
        *content = pack_list_read(p->reader, entry->runs->part)->pieces[entry->runs->first].digest;
        return;
    }
    h = hasher_create();
    for (size_t i = 0; i < entry->n_runs; i++) {
        const struct pack_run *run = &entry->runs[i];
        const struct pack_list *l;

        if (run->part == PACK_HOLE) {
            add_hole(h, run->bytes / PACK_PIECE_BYTES);
            continue;
        }
        l = pack_list_read(p->reader, run->part);
        for (uint32_t k = 0; k < run->n; k++)
            hasher_add(h, &l->pieces[run->first + k].digest, DIGEST_BYTES);
    }
    hasher_end(h, content);
    hasher_destroy(h);
}

static int read_piece(int fd, uint64_t at, uint8_t *bytes, size_t n, struct err *e)
{
    ssize_t got = io_read_all_at(fd, bytes, n, at);

    if (got < 0)
        return err_sys(e, "read");
    return (size_t)got == n ? 0 : err_set(e, ERR_FAILED, "it has shrunk");
}

static int content_of_pieces(int fd, uint64_t size, uint8_t *piece, struct hasher *h, struct err *e)
{
    uint64_t holes = 0;
    struct digest d;

    for (uint64_t at = 0; at < size; at += PACK_PIECE_BYTES) {
        uint64_t left = size - at;
        size_t n = left < PACK_PIECE_BYTES ? (size_t)left : PACK_PIECE_BYTES;

        if (read_piece(fd, at, piece, n, e) < 0)
            return -1;
        if (n == PACK_PIECE_BYTES && is_zero(piece, n)) {
            holes++;
            continue;
        }
        if (holes > 0)
            add_hole(h, holes);
        holes = 0;
        digest_of(piece, n, &d);
        hasher_add(h, &d, sizeof d);
    }
    if (holes > 0)
        add_hole(h, holes);
    return 0;
}

int plan_content_of(int fd, uint64_t size, struct digest *content, struct err *e)
{
    size_t most = size < PACK_PIECE_BYTES ? (size_t)size : PACK_PIECE_BYTES;
    uint8_t *piece;
    struct hasher *h;
    int result = 0;

    *content = (struct digest){ { 0 } };
    if (size == 0)
        return 0;
    piece = mem_resize(NULL, most, 1);
    if (size <= PACK_PIECE_BYTES) {
        result = read_piece(fd, 0, piece, most, e);
        digest_of(piece, result == 0 ? most : 0, content);
    }
    if (size > PACK_PIECE_BYTES ||
        (result == 0 && size == PACK_PIECE_BYTES && is_zero(piece, most))) {
        h = hasher_create();
        result = content_of_pieces(fd, size, piece, h, e);
        hasher_end(h, content);
        hasher_destroy(h);
    }
    free(piece);
    return result;
}

/* ---- reading it ---- */

static void add_entry(struct plan *p, const struct pack_entry *entry)
{
    struct plan_entry *to;
    struct cache_row *row;

    mem_grow((void **)&p->rows, &p->rows_capacity, p->n, sizeof *p->rows);
    mem_grow((void **)&p->entries, &p->entries_capacity, p->n, sizeof *p->entries);
    to = &p->entries[p->n];
    row = &p->rows[p->n++];
    *to = (struct plan_entry){ .is_wanted = true };
    *row = (struct cache_row){ .size = entry->size,
                               .path_at = p->names.n,
                               .kind = (uint32_t)entry->kind };
    buf_add(&p->names, entry->path, strlen(entry->path) + 1);
    if (entry->target != NULL) {
        to->target_at = p->targets.n;
        buf_add(&p->targets, entry->target, strlen(entry->target) + 1);
    }
    if (entry->kind == PACK_FILE || entry->kind == PACK_PROGRAM) {
        to->first_run = p->n_runs;
        to->n_runs = (uint32_t)entry->n_runs;
        for (size_t i = 0; i < entry->n_runs; i++) {
            mem_grow((void **)&p->runs, &p->runs_capacity, p->n_runs, sizeof *p->runs);
            p->runs[p->n_runs++] = entry->runs[i];
        }
        content_of_runs(p, entry, &row->content);
    }
}

int plan_open(struct plan *p, const struct pack_source *source, const struct dataset *set,
              struct err *e)
{
    struct pack_entry entry;
    int got;

    *p = (struct plan){ .set = *set };
    p->reader = pack_open(source, &set->id, e);
    if (p->reader == NULL)
        return -1;
    if (!digest_equal(pack_tree(p->reader), &set->tree)) {
        err_set(e, ERR_PROTOCOL, "dataset: its manifest is that of another tree");
    } else {
        while ((got = pack_next(p->reader, &entry, e)) == 1 && p->n < ENTRIES_MAX)
            add_entry(p, &entry);
        if (got == 0)
            return 0;
        if (got == 1)
            err_set(e, ERR_PROTOCOL, "dataset: more than %d files and folders", ENTRIES_MAX);
    }
    plan_close(p);
    return -1;
}

void plan_close(struct plan *p)
{
    pack_close(p->reader);
    free(p->rows);
    free(p->entries);
    free(p->runs);
    buf_free(&p->names);
    buf_free(&p->targets);
    *p = (struct plan){ .reader = NULL };
}

size_t plan_find(const struct plan *p, const char *path)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = pack_path_compare(plan_path(p, middle), path);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

/* ---- what is wanted ---- */

/* In whole blocks, as files take them. */
uint64_t plan_wanted_bytes(const struct plan *p, uint64_t *n_files)
{
    uint64_t bytes = 0;

    *n_files = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_entry *entry = &p->entries[i];
        uint64_t stored = p->rows[i].kind == PACK_FOLDER ? BLOCK_BYTES : 0;

        if (!entry->is_wanted)
            continue;
        for (uint32_t k = 0; k < entry->n_runs; k++)
            if (p->runs[entry->first_run + k].part != PACK_HOLE)
                stored += p->runs[entry->first_run + k].bytes;
        bytes += (stored + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        *n_files += p->rows[i].kind != PACK_HARD_LINK;
    }
    return bytes;
}

static int compare_wants(const void *x, const void *y)
{
    const struct want *a = x, *b = y;

    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->piece == b->piece ? 0 : a->piece < b->piece ? -1 : 1;
}

struct gathering {
    struct plan *plan;
    struct want *wants;
    size_t n, capacity;
    bool (*is_there)(void *context, const struct want *w);
    void *context;
};

static void gather_run(struct gathering *g, size_t i, const struct pack_run *run, uint64_t offset)
{
    for (uint32_t k = 0; k < run->n; k++) {
        const struct want w = { run->part, run->first + k, (uint32_t)i,
                                offset + (uint64_t)k * PACK_PIECE_BYTES };

        if (g->is_there != NULL && g->is_there(g->context, &w))
            continue;
        mem_grow((void **)&g->wants, &g->capacity, g->n, sizeof *g->wants);
        g->wants[g->n++] = w;
        atomic_fetch_add(&g->plan->entries[i].left, 1);
    }
}

struct want *plan_wants(struct plan *p, size_t *n,
                        bool (*is_there)(void *context, const struct want *w), void *context)
{
    struct gathering g = { .plan = p, .is_there = is_there, .context = context };

    for (size_t i = 0; i < p->n; i++) {
        struct plan_entry *entry = &p->entries[i];
        uint64_t offset = 0;

        if (!entry->is_wanted || !plan_is_file(p, i))
            continue;
        atomic_store(&entry->left, 0);
        for (uint32_t k = 0; k < entry->n_runs; k++) {
            const struct pack_run *run = &p->runs[entry->first_run + k];

            if (run->part != PACK_HOLE)
                gather_run(&g, i, run, offset);
            offset += run->bytes;
        }
    }
    if (g.n > 0)
        qsort(g.wants, g.n, sizeof *g.wants, compare_wants);
    *n = g.n;
    return g.wants;
}

/* SPDX-License-Identifier: MIT */
/* piece_index.c - an index of the pieces in a project's packs */

/*
 * The file has: records, sorted by key; the parts; for each value of a key's first two bytes the
 * index of its first record; the numbers of records and parts.  Only this machine reads it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/piece_index.h"
#include "client/util/cache_dir.h"
#include "common/base/mem.h"
#include "common/base/hash_table.h"

enum {
    KEY_BYTES = 16, /* the first bytes of a digest */
    FANS = 64 * 1024,
    AT_ONCE = 64,           /* records read at once */
    ALL_MAX = 256 * 1024,   /* a table of at most this many records is read whole */
    BATCH_MAX = 256 * 1024, /* new records in memory */
    MAGIC_BYTES = 16
};

static const char magic[MAGIC_BYTES + 1] = "ludwig known 02\n";

struct record {
    uint8_t key[KEY_BYTES];
    uint32_t part, entry, size;
};

/* The stored form of a part. */
struct stored_part {
    struct digest list;
    uint64_t stored_bytes, bytes;
    uint32_t form, zero;
};

struct counts {
    uint64_t n_records, n_parts;
};

struct piece_index {
    FILE *file; /* NULL: the index is empty */
    uint64_t n_records;
    uint32_t *fans; /* FANS + 1 indices: the first record by a key's first two bytes */
    struct piece_index_part *parts;
    size_t n_parts;
    struct hash_table *by_list;
    uint8_t *counted; /* a bit for each record */
    struct record *some;
    size_t at_once;
    uint64_t some_first; /* index of the first record in `some` */
    size_t n_some;
};

/* ---- opening ---- */

static bool read_at(const struct piece_index *k, uint64_t offset, void *to, size_t n)
{
    return pread(fileno(k->file), to, n, (off_t)offset) == (ssize_t)n;
}

static bool read_all(struct piece_index *k, uint64_t bytes)
{
    struct counts c;
    uint64_t parts_at, fans_at, fans_bytes = (FANS + 1) * sizeof *k->fans;

    if (bytes < MAGIC_BYTES + fans_bytes + sizeof c || !read_at(k, bytes - sizeof c, &c, sizeof c))
        return false;
    parts_at = MAGIC_BYTES + c.n_records * sizeof(struct record);
    fans_at = parts_at + c.n_parts * sizeof(struct stored_part);
    if (c.n_records > bytes / sizeof(struct record) || c.n_parts > PACK_PARTS_MAX ||
        fans_at + fans_bytes + sizeof c != bytes)
        return false;
    k->n_records = c.n_records;
    k->parts = mem_alloc((size_t)c.n_parts * sizeof *k->parts);
    k->counted = mem_alloc((size_t)(c.n_records / 8 + 1));
    k->at_once = c.n_records <= ALL_MAX ? (size_t)c.n_records : AT_ONCE;
    k->some = mem_alloc(k->at_once * sizeof *k->some);
    for (; k->n_parts < c.n_parts; k->n_parts++) {
        struct stored_part p;

        if (!read_at(k, parts_at + k->n_parts * sizeof p, &p, sizeof p) ||
            p.form >= PACK_FORM_COUNT)
            return false;
        k->parts[k->n_parts] =
            (struct piece_index_part){ .part = { p.list, p.stored_bytes, (enum pack_form)p.form },
                                       .bytes = p.bytes };
        hash_table_add(k->by_list, &p.list, (uint32_t)k->n_parts);
    }
    return read_at(k, fans_at, k->fans, (size_t)fans_bytes);
}

static struct piece_index *create(void)
{
    struct piece_index *k = mem_alloc(sizeof *k);

    k->fans = mem_alloc((FANS + 1) * sizeof *k->fans);
    k->by_list = hash_table_create(SIZE_MAX);
    return k;
}

struct piece_index *piece_index_open(const char *path)
{
    struct piece_index *k = create();
    uint64_t bytes;

    k->file = cache_dir_open(path, magic, &bytes);
    if (k->file == NULL || read_all(k, bytes))
        return k;
    piece_index_close(k);
    return create();
}

void piece_index_close(struct piece_index *k)
{
    if (k == NULL)
        return;
    if (k->file != NULL)
        fclose(k->file);
    hash_table_destroy(k->by_list);
    free(k->fans);
    free(k->parts);
    free(k->counted);
    free(k->some);
    free(k);
}

struct piece_index_part *piece_index_parts(struct piece_index *k, size_t *n)
{
    *n = k->n_parts;
    return k->parts;
}

bool piece_index_has_list(const struct piece_index *k, const struct digest *list)
{
    uint32_t number;

    return hash_table_find(k->by_list, list, &number);
}

/* ---- looking up ---- */

static const struct record *record_at(struct piece_index *k, uint64_t i)
{
    if (i < k->some_first || i >= k->some_first + k->n_some) {
        uint64_t first = k->at_once == k->n_records ? 0 : i, left = k->n_records - first;

        k->some_first = first;
        k->n_some = left < k->at_once ? (size_t)left : k->at_once;
        if (!read_at(k, MAGIC_BYTES + first * sizeof *k->some, k->some,
                     k->n_some * sizeof *k->some)) {
            k->n_some = 0;
            return NULL;
        }
    }
    return &k->some[i - k->some_first];
}

/* The first index at which the piece may have a record; *end: behind the last. */
static uint64_t find_first(struct piece_index *k, const struct digest *piece, uint64_t *end)
{
    size_t fan = (size_t)piece->bytes[0] << 8 | piece->bytes[1];
    uint64_t low = k->fans[fan], high = k->fans[fan + 1];

    *end = high <= k->n_records ? high : k->n_records;
    high = *end;
    while (high > low && high - low > AT_ONCE / 2) {
        uint64_t middle = low + (high - low) / 2;
        const struct record *r = record_at(k, middle);

        if (r != NULL && memcmp(r->key, piece->bytes, KEY_BYTES) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the piece's next record from *i on, and sets *i behind it.  NULL: there is none. */
static const struct record *next_record(struct piece_index *k, const struct digest *piece,
                                        uint64_t *i, uint64_t end)
{
    while (*i < end) {
        const struct record *r = record_at(k, (*i)++);
        int order = r == NULL ? 1 : memcmp(r->key, piece->bytes, KEY_BYTES);

        if (order > 0)
            break;
        if (order == 0 && r->part < k->n_parts)
            return r;
    }
    return NULL;
}

bool piece_index_want(struct piece_index *k, const struct digest *piece)
{
    uint64_t end, i = find_first(k, piece, &end);
    const struct record *r;
    bool found = false;

    while ((r = next_record(k, piece, &i, end)) != NULL) {
        uint8_t *counted = &k->counted[(i - 1) / 8], bit = (uint8_t)(1u << (i - 1) % 8);

        found = found || k->parts[r->part].is_there;
        if ((*counted & bit) == 0)
            k->parts[r->part].wanted_bytes += r->size;
        *counted |= bit;
    }
    return found;
}

/* Whether a larger share of p's bytes is wanted than of the other part's. */
static bool is_better(const struct piece_index_part *p, const struct piece_index_part *than)
{
    double wanted = (double)p->wanted_bytes * (double)than->bytes;

    return wanted > (double)than->wanted_bytes * (double)p->bytes;
}

bool piece_index_find(struct piece_index *k, const struct digest *piece, bool all,
                      struct pack_place *where)
{
    uint64_t end, i = find_first(k, piece, &end);
    struct piece_index_part *best = NULL;
    const struct record *r;

    while ((r = next_record(k, piece, &i, end)) != NULL) {
        struct piece_index_part *p = &k->parts[r->part];

        if ((all ? !p->is_there : !p->is_good) || (best != NULL && !is_better(p, best)))
            continue;
        best = p;
        *where = (struct pack_place){ &p->part, r->entry };
    }
    if (best != NULL)
        best->is_used = true;
    return best != NULL;
}

/* ---- learning ---- */

struct piece_index_update {
    char *path;
    struct piece_index *old;
    struct piece_index_part *parts; /* all parts of the new table */
    size_t n_parts, capacity;
    uint32_t *numbers; /* for each of old's parts its number in the new table */
    struct record *batch;
    size_t n_batch, batch_capacity;
    bool has_failed;
    bool is_written; /* a new table was written */
};

static void keep_old_parts(struct piece_index_update *u)
{
    for (size_t i = 0; i < u->old->n_parts; i++) {
        u->numbers[i] = UINT32_MAX;
        if (!u->old->parts[i].is_there)
            continue;
        mem_grow((void **)&u->parts, &u->capacity, u->n_parts, sizeof *u->parts);
        u->numbers[i] = (uint32_t)u->n_parts;
        u->parts[u->n_parts++] = u->old->parts[i];
    }
}

struct piece_index_update *piece_index_update_begin(const char *path, struct piece_index *old)
{
    struct piece_index_update *u = mem_alloc(sizeof *u);

    *u = (struct piece_index_update){ .path = mem_strdup(path), .old = old };
    u->numbers = mem_alloc(old->n_parts * sizeof *u->numbers);
    keep_old_parts(u);
    return u;
}

static int compare_records(const void *x, const void *y)
{
    const struct record *a = x, *b = y;
    int order = memcmp(a->key, b->key, KEY_BYTES);

    return order != 0 ? order : (a->part > b->part) - (a->part < b->part);
}

static void add_counted(struct cache_dir_writer *w, uint32_t *fans, const struct record *r)
{
    fans[((size_t)r->key[0] << 8 | r->key[1]) + 1]++;
    cache_dir_add(w, r, sizeof *r);
}

static uint64_t merge_tables(struct piece_index_update *u, struct cache_dir_writer *w,
                             uint32_t *fans)
{
    uint64_t n = 0, i = 0;
    size_t k = 0;

    for (;;) {
        const struct record *r = i < u->old->n_records ? record_at(u->old, i) : NULL;
        struct record kept;

        if (i < u->old->n_records && r == NULL) {
            u->has_failed = true;
            return 0;
        }
        if (r != NULL && (r->part >= u->old->n_parts || u->numbers[r->part] == UINT32_MAX)) {
            i++;
            continue;
        }
        if (r != NULL) {
            kept = *r;
            kept.part = u->numbers[r->part];
        }
        if (r == NULL && k == u->n_batch)
            return n;
        if (r != NULL && (k == u->n_batch || compare_records(&kept, &u->batch[k]) <= 0)) {
            add_counted(w, fans, &kept);
            i++;
        } else {
            add_counted(w, fans, &u->batch[k++]);
        }
        n++;
    }
}

static int write_table(struct piece_index_update *u)
{
    struct cache_dir_writer *w = cache_dir_create(u->path, magic);
    struct counts c = { .n_parts = u->n_parts };
    uint32_t *fans;

    if (w == NULL)
        return -1;
    fans = mem_alloc((FANS + 1) * sizeof *fans);
    if (u->n_batch > 1)
        qsort(u->batch, u->n_batch, sizeof *u->batch, compare_records);
    c.n_records = merge_tables(u, w, fans);
    for (size_t i = 0; i < FANS; i++)
        fans[i + 1] += fans[i];
    for (size_t i = 0; i < u->n_parts; i++) {
        const struct piece_index_part *p = &u->parts[i];
        struct stored_part stored = { p->part.list, p->part.stored_bytes, p->bytes,
                                      (uint32_t)p->part.form, 0 };

        cache_dir_add(w, &stored, sizeof stored);
    }
    cache_dir_add(w, fans, (FANS + 1) * sizeof *fans);
    cache_dir_add(w, &c, sizeof c);
    free(fans);
    if (!u->has_failed)
        return cache_dir_commit(w);
    cache_dir_abandon(w);
    return -1;
}

/* Merges the batch in memory into the table. */
static void flush_batch(struct piece_index_update *u)
{
    struct piece_index *next;

    if (u->has_failed || write_table(u) < 0) {
        u->has_failed = true;
        return;
    }
    next = piece_index_open(u->path);
    piece_index_close(u->old);
    u->old = next;
    u->is_written = true;
    u->n_batch = 0;
    u->numbers = mem_resize(u->numbers, next->n_parts, sizeof *u->numbers);
    u->n_parts = 0;
    for (size_t i = 0; i < next->n_parts; i++)
        next->parts[i].is_there = true;
    keep_old_parts(u);
}

void piece_index_update_add(struct piece_index_update *u, const struct pack_list *list)
{
    uint64_t bytes = 0;

    if (u->has_failed)
        return;
    if (u->n_batch > 0 && u->n_batch + list->n > BATCH_MAX)
        flush_batch(u);
    for (uint32_t i = 0; i < list->n; i++) {
        struct record r = { .part = (uint32_t)u->n_parts,
                            .entry = i,
                            .size = list->pieces[i].size };

        memcpy(r.key, list->pieces[i].digest.bytes, KEY_BYTES);
        mem_grow((void **)&u->batch, &u->batch_capacity, u->n_batch, sizeof *u->batch);
        u->batch[u->n_batch++] = r;
        bytes += r.size;
    }
    mem_grow((void **)&u->parts, &u->capacity, u->n_parts, sizeof *u->parts);
    u->parts[u->n_parts++] = (struct piece_index_part){ .part = list->part, .bytes = bytes };
}

struct piece_index *piece_index_update_end(struct piece_index_update *u)
{
    struct piece_index *k;

    flush_batch(u);
    k = u->has_failed && !u->is_written ? NULL : u->old;
    free(u->batch);
    free(u->parts);
    free(u->numbers);
    free(u->path);
    free(u);
    return k;
}

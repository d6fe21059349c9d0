/* SPDX-License-Identifier: MIT */
/*
 * pack_store.h - keeps packs in memory, as a sink to write to and as a source to read from
 */
#ifndef LUDWIG_TESTS_PACK_STORE_H
#define LUDWIG_TESTS_PACK_STORE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/pack/pack_part.h"
#include "common/pack/pack_read.h"
#include "common/base/hash_table.h"
#include "common/pack/pack_write.h"

struct stored {
    char *path;
    struct buf bytes;
};

/* A piece, and the part and the entry of its list where it lies; the part is whole. */
struct stored_piece {
    struct digest digest;
    struct pack_part part;
    uint32_t entry;
};

struct store {
    struct stored *items;
    size_t n, capacity;
    struct buf open[PACK_SLOTS]; /* parts that are being written */
    struct stored_piece *pieces; /* what store_known finds */
    size_t n_pieces, pieces_capacity;
    struct hash_table *by_digest; /* indexes of pieces */
    size_t new_bytes;             /* of all files that were added */
};

/* Returns the file of this path, or NULL. */
static inline struct stored *store_find(struct store *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->items[i].path, path) == 0)
            return &s->items[i];
    return NULL;
}

/* Adds a file with these bytes; one that is there already stays as it is. */
static inline void store_put(struct store *s, const char *path, struct bytes bytes)
{
    if (store_find(s, path) != NULL)
        return;
    mem_grow((void **)&s->items, &s->capacity, s->n, sizeof *s->items);
    s->items[s->n] = (struct stored){ .path = mem_strdup(path) };
    buf_add(&s->items[s->n++].bytes, bytes.data, bytes.n);
    s->new_bytes += bytes.n;
}

static inline void store_free(struct store *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->items[i].path);
        buf_free(&s->items[i].bytes);
    }
    for (size_t i = 0; i < PACK_SLOTS; i++)
        buf_free(&s->open[i]);
    free(s->items);
    free(s->pieces);
    hash_table_destroy(s->by_digest);
    *s = (struct store){ 0 };
}

/* ---- as a sink ---- */

static inline int store_part_begin(void *context, unsigned slot, struct err *e)
{
    struct store *s = context;

    (void)e;
    buf_clear(&s->open[slot]);
    return 0;
}

static inline int store_part_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    struct store *s = context;

    (void)e;
    buf_add(&s->open[slot], bytes.data, bytes.n);
    return 0;
}

static inline int store_object(void *context, enum pack_object kind, const struct digest *name,
                               struct bytes bytes, struct err *e)
{
    struct buf path = { 0 };

    (void)e;
    pack_object_path(&path, kind, name);
    store_put(context, buf_text(&path), bytes);
    buf_free(&path);
    return 0;
}

/* Makes the pieces of a part's list known to store_known. */
static inline void store_learn(struct store *s, const struct pack_list *l)
{
    if (s->by_digest == NULL)
        s->by_digest = hash_table_create(SIZE_MAX);
    for (uint32_t i = 0; i < l->n; i++) {
        mem_grow((void **)&s->pieces, &s->pieces_capacity, s->n_pieces, sizeof *s->pieces);
        hash_table_add(s->by_digest, &l->pieces[i].digest, (uint32_t)s->n_pieces);
        s->pieces[s->n_pieces++] = (struct stored_piece){ l->pieces[i].digest, l->part, i };
    }
}

static inline int store_part_end(void *context, unsigned slot, const struct pack_part *part,
                                 struct bytes list, struct err *e)
{
    struct store *s = context;
    struct buf path = { 0 };
    struct pack_list *l = pack_list_decode(&part->list, list, e);

    if (l == NULL)
        return -1;
    pack_part_path(&path, part);
    store_put(s, buf_text(&path), buf_bytes(&s->open[slot]));
    store_object(s, PACK_LIST, &part->list, list, e);
    store_learn(s, l);
    buf_free(&path);
    pack_list_destroy(l);
    return 0;
}

static inline bool store_known(void *context, const struct digest *piece, struct pack_place *where)
{
    struct store *s = context;
    uint32_t i;

    if (s->by_digest == NULL || !hash_table_find(s->by_digest, piece, &i) || i >= s->n_pieces)
        return false;
    *where = (struct pack_place){ &s->pieces[i].part, s->pieces[i].entry };
    return true;
}

/* Returns a sink that writes to s, which must outlive it. */
static inline struct pack_sink store_sink(struct store *s)
{
    return (struct pack_sink){ .context = s,
                               .part_begin = store_part_begin,
                               .part_write = store_part_write,
                               .part_end = store_part_end,
                               .object = store_object,
                               .known = store_known };
}

/* ---- as a source ---- */

static inline int store_fetch(void *context, enum pack_object kind, const struct digest *name,
                              size_t max_bytes, struct buf *out, struct err *e)
{
    struct buf path = { 0 };
    struct stored *item;

    pack_object_path(&path, kind, name);
    item = store_find(context, buf_text(&path));
    if (item == NULL || item->bytes.n > max_bytes) {
        err_set(e, ERR_NOT_FOUND, "%s is not there", buf_text(&path));
        buf_free(&path);
        return -1;
    }
    buf_add(out, item->bytes.bytes, item->bytes.n);
    buf_free(&path);
    return 0;
}

/* Returns a source that reads from s, which must outlive it. */
static inline struct pack_source store_source(struct store *s)
{
    return (struct pack_source){ s, store_fetch };
}

/* Bytes as a stream, for reading_read. */
struct reading {
    struct bytes from;
    size_t at;
    size_t most; /* bytes given by one read at most; 0: no limit */
};

static inline ssize_t reading_read(void *context, void *bytes, size_t n, struct err *e)
{
    struct reading *r = context;

    (void)e;
    if (r->most > 0 && n > r->most)
        n = r->most;
    if (n > r->from.n - r->at)
        n = r->from.n - r->at;
    if (n > 0)
        memcpy(bytes, r->from.data + r->at, n);
    r->at += n;
    return (ssize_t)n;
}

/* Returns the descriptor of a file in memory with these bytes, whose offset is at their end. */
static inline int file_of(const void *bytes, size_t n)
{
    int fd = memfd_create("content", MFD_CLOEXEC);

    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    return fd;
}

#endif

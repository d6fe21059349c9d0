/* SPDX-License-Identifier: MIT */
/* file_index.c - keeps size, times and pieces of a tree's files as they were last read */

/*
 * A record has: how many bytes of the path are the same as in the record before (2 bytes), how many
 * follow (2), and these; size, mtime and ctime in ns, inode (8 bytes each); the digest of each
 * piece.  The number of records comes last.  All is in this machine's byte order.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/pack/file_index.h"
#include "client/util/cache_dir.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "common/pack/pack.h"

enum { SURE_AFTER_S = 2 };

static const char magic[] = "ludwig index 1\n";

/* A file whose marks are the same counts as unchanged. */
struct marks {
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
    uint64_t inode;
};

struct file_index_reader {
    FILE *file;
    uint64_t left; /* bytes of records */
    int64_t n;
    bool has_record;
    struct buf path;
    struct marks marks;
    struct digest *pieces;
    size_t n_pieces, capacity;
};

struct file_index_writer {
    struct cache_dir_writer *to;
    struct buf last, record;
    int64_t n;
};

static struct marks marks_of(const struct stat *st)
{
#ifdef __APPLE__
    const struct timespec *m = &st->st_mtimespec, *c = &st->st_ctimespec;
#else
    const struct timespec *m = &st->st_mtim, *c = &st->st_ctim;
#endif

    return (struct marks){ (uint64_t)st->st_size, units_ns(m), units_ns(c), (uint64_t)st->st_ino };
}

static uint64_t pieces_of(uint64_t size)
{
    return size / PACK_PIECE_BYTES + (size % PACK_PIECE_BYTES != 0);
}

/* ---- reading ---- */

static bool take_bytes(struct file_index_reader *r, void *to, size_t n)
{
    if (n > r->left || fread(to, 1, n, r->file) != n)
        return false;
    r->left -= n;
    return true;
}

static bool take_path(struct file_index_reader *r)
{
    uint16_t shared, rest;

    if (!take_bytes(r, &shared, sizeof shared) || !take_bytes(r, &rest, sizeof rest) ||
        shared > r->path.n)
        return false;
    if (r->path.bytes != NULL) {
        r->path.n = shared;
        r->path.bytes[shared] = '\0';
    }
    if (!take_bytes(r, buf_reserve(&r->path, rest), rest))
        return false;
    buf_added(&r->path, rest);
    return true;
}

static void advance_reader(struct file_index_reader *r)
{
    uint64_t n;

    r->has_record = false;
    if (r->left == 0 || !take_path(r) || !take_bytes(r, &r->marks, sizeof r->marks))
        return;
    n = pieces_of(r->marks.size);
    if (n > r->left / sizeof *r->pieces)
        return;
    while (r->capacity < n)
        mem_grow((void **)&r->pieces, &r->capacity, r->capacity, sizeof *r->pieces);
    r->n_pieces = (size_t)n;
    r->has_record = take_bytes(r, r->pieces, r->n_pieces * sizeof *r->pieces);
}

struct file_index_reader *file_index_open(const char *path)
{
    uint64_t bytes, begin = strlen(magic);
    FILE *file = cache_dir_open(path, magic, &bytes);
    struct file_index_reader *r;

    if (file == NULL)
        return NULL;
    r = mem_alloc(sizeof *r);
    r->file = file;
    if (bytes < begin + sizeof r->n || fseek(file, (long)(bytes - sizeof r->n), SEEK_SET) != 0 ||
        fread(&r->n, sizeof r->n, 1, file) != 1 || fseek(file, (long)begin, SEEK_SET) != 0) {
        file_index_close(r);
        return NULL;
    }
    r->left = bytes - begin - sizeof r->n;
    advance_reader(r);
    return r;
}

void file_index_close(struct file_index_reader *r)
{
    if (r == NULL)
        return;
    fclose(r->file);
    buf_free(&r->path);
    free(r->pieces);
    free(r);
}

int64_t file_index_count(const struct file_index_reader *r)
{
    return r->n;
}

bool file_index_find(struct file_index_reader *r, const char *path, const struct stat *st,
                     struct pack_added *file)
{
    struct marks now = marks_of(st);

    while (r->has_record && pack_path_compare(buf_text(&r->path), path) < 0)
        advance_reader(r);
    if (!r->has_record || strcmp(buf_text(&r->path), path) != 0 ||
        memcmp(&r->marks, &now, sizeof now) != 0)
        return false;
    *file = (struct pack_added){ r->pieces, r->n_pieces, r->marks.size };
    return true;
}

/* ---- writing ---- */

struct file_index_writer *file_index_create(const char *path)
{
    struct cache_dir_writer *to = cache_dir_create(path, magic);
    struct file_index_writer *w;

    if (to == NULL)
        return NULL;
    w = mem_alloc(sizeof *w);
    w->to = to;
    return w;
}

static void add_record(struct file_index_writer *w, const char *path, const struct marks *marks,
                       const struct digest *pieces, size_t n_pieces)
{
    uint16_t shared = 0, rest;
    struct buf *b = &w->record;

    while (shared < w->last.n && path[shared] != '\0' &&
           w->last.bytes[shared] == (uint8_t)path[shared])
        shared++;
    rest = (uint16_t)(strlen(path) - shared);
    buf_clear(b);
    buf_add(b, &shared, sizeof shared);
    buf_add(b, &rest, sizeof rest);
    buf_add(b, path + shared, rest);
    buf_add(b, marks, sizeof *marks);
    buf_add(b, pieces, n_pieces * sizeof *pieces);
    cache_dir_add(w->to, b->bytes, b->n);
    buf_clear(&w->last);
    buf_add_str(&w->last, path);
    w->n++;
}

void file_index_add(struct file_index_writer *w, const char *path, const struct stat *st,
                    const struct pack_added *file, const struct timespec *began_at)
{
    struct marks marks = marks_of(st);

    if (began_at != NULL &&
        marks.ctime_ns > units_ns(began_at) - (int64_t)SURE_AFTER_S * 1000000000)
        return;
    if (strlen(path) <= PACK_PATH_MAX && pieces_of(file->size) == file->n_pieces)
        add_record(w, path, &marks, file->pieces, file->n_pieces);
}

void file_index_commit(struct file_index_writer *w, struct file_index_reader *rest)
{
    if (w == NULL)
        return;
    for (; rest != NULL && rest->has_record; advance_reader(rest))
        if (w->last.n == 0 || pack_path_compare(buf_text(&rest->path), buf_text(&w->last)) > 0)
            add_record(w, buf_text(&rest->path), &rest->marks, rest->pieces, rest->n_pieces);
    cache_dir_add(w->to, &w->n, sizeof w->n);
    (void)cache_dir_commit(w->to);
    buf_free(&w->last);
    buf_free(&w->record);
    free(w);
}

/* SPDX-License-Identifier: MIT */
/* pack_write_file.c - files become pieces, and those become parts */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/pack/pack_write_internal.h"

/* ---- what the file at hand consists of ---- */

static void begin_file(struct pack_writer *w)
{
    w->n_runs = w->n_digests = 0;
}

static bool continues(const struct pack_run *last, const struct pack_run *run)
{
    return last->part == run->part &&
           (run->part == PACK_HOLE || last->first + last->n == run->first);
}

static void add_run(struct pack_writer *w, const struct pack_run *run)
{
    struct pack_run *last = w->n_runs > 0 ? &w->runs[w->n_runs - 1] : NULL;

    if (last != NULL && continues(last, run)) {
        last->n += run->n;
        last->bytes += run->bytes;
        return;
    }
    mem_grow((void **)&w->runs, &w->runs_capacity, w->n_runs, sizeof *w->runs);
    w->runs[w->n_runs++] = *run;
}

static void add_piece(struct pack_writer *w, const struct digest *digest,
                      const struct pack_run *run)
{
    mem_grow((void **)&w->digests, &w->digests_capacity, w->n_digests, sizeof *w->digests);
    w->digests[w->n_digests++] = *digest;
    add_run(w, run);
}

static void add_hole(struct pack_writer *w)
{
    add_piece(w, &(struct digest){ 0 },
              &(struct pack_run){ .part = PACK_HOLE, .bytes = PACK_PIECE_BYTES });
}

static void sign_file(struct pack_writer *w)
{
    const struct digest *digest = w->digests;

    for (size_t i = 0; i < w->n_runs; i++) {
        const struct pack_run *run = &w->runs[i];

        if (run->part == PACK_HOLE) {
            pack_tree_hole(w->tree, run->bytes / PACK_PIECE_BYTES);
            digest += run->bytes / PACK_PIECE_BYTES;
            continue;
        }
        for (uint32_t k = 0; k < run->n; k++)
            pack_tree_piece(w->tree, digest++);
    }
}

static int end_file(struct pack_writer *w, const char *path, bool executable, uint64_t size,
                    struct err *e)
{
    struct pack_entry entry = { .path = path,
                                .runs = w->runs,
                                .n_runs = w->n_runs,
                                .size = size,
                                .kind = executable ? PACK_PROGRAM : PACK_FILE };

    sign_file(w);
    return pack_add_entry(w, &entry, e);
}

/* ---- reading ---- */

struct input {
    struct pack_writer *w;
    const char *path;
    bool executable;
    int fd;
    uint64_t offset;
    const char
        *top; /* of a file that stays where it is: where on the share its tree lies; or NULL */
    struct pack_list in_place; /* what is not listed yet of one of several pieces */
    size_t in_place_capacity;
    uint32_t in_place_part;
};

/* As many of n bytes as there are. */
static int read_at(const struct input *in, uint8_t *bytes, size_t n, size_t *got, struct err *e)
{
    ssize_t some = io_read_all_at(in->fd, bytes, n, in->offset);

    *got = some < 0 ? 0 : (size_t)some;
    return some < 0 ? err_sys(e, "read %s", in->path) : 0;
}

static bool is_zero(const uint8_t *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* How many whole pieces from here on need not be read, as nothing was ever written there. */
static uint64_t hole_pieces(const struct input *in)
{
#ifdef SEEK_DATA
    struct stat st;
    off_t data, from = (off_t)in->offset;

    if (fstat(in->fd, &st) < 0 || st.st_blocks >= st.st_size / 512 || from >= st.st_size)
        return 0;
    data = lseek(in->fd, from, SEEK_DATA);
    if (data < 0)
        data = errno == ENXIO ? st.st_size : from;
    if (data > st.st_size)
        data = st.st_size;
    return data > from ? (uint64_t)(data - from) / PACK_PIECE_BYTES : 0;
#else
    (void)in;
    return 0;
#endif
}

/* ---- files that stay where they are ---- */

static int end_list(struct pack_writer *w, struct pack_list *l, uint32_t part, struct err *e)
{
    struct buf stored = { 0 };
    int result;

    pack_list_encode(l, &stored);
    pack_part_is_done(w, part, &l->part);
    w->summary.manifest_bytes += (int64_t)stored.n;
    result = w->sink.object(w->sink.context, PACK_LIST, &l->part.list, buf_bytes(&stored), e);
    l->n = 0;
    buf_free(&stored);
    return result;
}

static int end_in_place(struct input *in, struct err *e)
{
    struct pack_list *l = &in->in_place;

    return l->n == 0 ? 0 : end_list(in->w, l, in->in_place_part, e);
}

static char *path_on_share(const struct input *in)
{
    return in->path[0] == '\0' ? mem_strdup(in->top) : path_join(in->top, in->path);
}

static void list_piece(struct pack_list *l, size_t *capacity, const struct pack_piece *piece)
{
    mem_grow((void **)&l->pieces, capacity, l->n, sizeof *l->pieces);
    l->pieces[l->n++] = *piece;
    l->part.stored_bytes += piece->size;
}

static int add_in_place(struct input *in, const struct pack_piece *piece, struct pack_run *run,
                        struct err *e)
{
    struct pack_list *l = &in->in_place;

    if (l->n == PACK_PIECES_MAX && end_in_place(in, e) < 0)
        return -1;
    if (l->n == 0) {
        if (pack_new_part(in->w, &in->in_place_part, e) < 0)
            return -1;
        l->part = (struct pack_part){ .form = PACK_IN_PLACE };
        l->offset = in->offset;
        if (l->path == NULL)
            l->path = path_on_share(in);
    }
    list_piece(l, &in->in_place_capacity, piece);
    *run = (struct pack_run){ in->in_place_part, l->n - 1, 1, piece->size };
    return 0;
}

int pack_end_files(struct pack_writer *w, struct err *e)
{
    return w->files.n == 0 ? 0 : end_list(w, &w->files, w->files_part, e);
}

/* One piece is all of it. */
static int add_to_files(const struct input *in, const struct pack_piece *piece,
                        struct pack_run *run, struct err *e)
{
    struct pack_writer *w = in->w;
    struct pack_list *l = &w->files;

    if ((l->n == PACK_PIECES_MAX || l->part.stored_bytes + piece->size > PACK_PART_BYTES) &&
        pack_end_files(w, e) < 0)
        return -1;
    if (l->n == 0) {
        if (pack_new_part(w, &w->files_part, e) < 0)
            return -1;
        l->part = (struct pack_part){ .form = PACK_FILES };
        if (l->path == NULL)
            l->path = mem_strdup(in->top);
    }
    list_piece(l, &w->files_capacity, piece);
    *run = (struct pack_run){ w->files_part, l->n - 1, 1, piece->size };
    return 0;
}

static int refer_to(struct input *in, const struct pack_piece *piece, bool is_whole_file,
                    struct pack_run *run, struct err *e)
{
    return is_whole_file ? add_to_files(in, piece, run, e) : add_in_place(in, piece, run, e);
}

/* ---- piece by piece ---- */

static int take_piece(struct input *in, size_t n, bool is_whole_file, struct err *e)
{
    struct pack_writer *w = in->w;
    struct part_piece piece = { .path = in->path,
                                .executable = in->executable,
                                .content = { w->piece, n } };
    struct pack_run run;
    int result = 0;

    hasher_add(w->hasher, w->piece, n);
    hasher_end(w->hasher, &piece.digest);
    if (in->top != NULL)
        result =
            refer_to(in, &(struct pack_piece){ piece.digest, (uint32_t)n }, is_whole_file, &run, e);
    else if (!pack_find_piece(w, &piece.digest, &run))
        result = pack_store_piece(w, is_whole_file, &piece, &run, e);
    if (result == 0)
        add_piece(w, &piece.digest, &run);
    in->offset += n;
    return result;
}

static int take_holes(struct input *in, uint64_t n, struct err *e)
{
    /* What follows does not lie behind what came before. */
    if (end_in_place(in, e) < 0)
        return -1;
    for (uint64_t i = 0; i < n; i++)
        add_hole(in->w);
    in->offset += n * PACK_PIECE_BYTES;
    return 0;
}

static int say_too_large(const struct input *in, struct err *e)
{
    return err_set(e, ERR_FAILED, "%s is larger than 4 TiB, which cannot be packed", in->path);
}

/* 1; 0 at the end of the file. */
static int take_next(struct input *in, struct err *e)
{
    uint64_t holes = in->offset > 0 ? hole_pieces(in) : 0;
    uint8_t *bytes = in->w->piece;
    size_t got, n;

    if (in->offset + holes * PACK_PIECE_BYTES > PACK_FILE_BYTES_MAX)
        return say_too_large(in, e);
    if (holes > 0)
        return take_holes(in, holes, e) < 0 ? -1 : 1;
    /* One more byte tells whether something follows. */
    if (read_at(in, bytes, PACK_PIECE_BYTES + 1, &got, e) < 0)
        return -1;
    n = got < PACK_PIECE_BYTES ? got : PACK_PIECE_BYTES;
    if (n == 0)
        return 0;
    if (n == PACK_PIECE_BYTES && is_zero(bytes, n)) {
        if (take_holes(in, 1, e) < 0)
            return -1;
    } else if (take_piece(in, n, in->offset == 0 && got == n, e) < 0) {
        return -1;
    }
    return got > n;
}

static int take_file(struct input *in, struct pack_added *added, struct err *e)
{
    struct pack_writer *w = in->w;
    int more;

    if (pack_order_take(&w->order, in->path, in->executable ? PACK_PROGRAM : PACK_FILE, e) < 0)
        return -1;
    if (w->piece == NULL)
        w->piece = mem_resize(NULL, PACK_PIECE_BYTES + 1, 1);
    begin_file(w);
    while ((more = take_next(in, e)) == 1)
        ;
    if (more < 0 || end_in_place(in, e) < 0)
        return -1;
    if (in->offset > PACK_FILE_BYTES_MAX)
        return say_too_large(in, e);
    *added = (struct pack_added){ w->digests, w->n_digests, in->offset };
    return end_file(w, in->path, in->executable, in->offset, e);
}

int pack_add_file(struct pack_writer *w, const char *path, bool executable, int fd,
                  struct pack_added *added, struct err *e)
{
    struct input in = { .w = w, .path = path, .executable = executable, .fd = fd };

    return take_file(&in, added, e);
}

static int check_on_share(const struct input *in, struct err *e)
{
    char *path = path_on_share(in);
    int result = pack_path_check(path, strlen(path), e);

    free(path);
    return result;
}

static void free_in_place(struct input *in)
{
    free(in->in_place.pieces);
    free((void *)(uintptr_t)in->in_place.path);
}

int pack_add_in_place(struct pack_writer *w, const char *path, bool executable, int fd,
                      const char *top, struct pack_added *added, struct err *e)
{
    struct input in = { .w = w, .path = path, .executable = executable, .fd = fd, .top = top };
    int result = -1;

    if (check_on_share(&in, e) == 0)
        result = take_file(&in, added, e);
    free_in_place(&in);
    return result;
}

/* ---- not reading ---- */

int pack_add_unread(struct pack_writer *w, const char *path, bool executable,
                    const struct pack_added *file, struct err *e)
{
    struct pack_run run;

    if (file->n_pieces != (file->size + PACK_PIECE_BYTES - 1) / PACK_PIECE_BYTES)
        return 0;
    begin_file(w);
    for (size_t i = 0; i < file->n_pieces; i++) {
        if (digest_is_zero(&file->pieces[i])) { /* a hole */
            add_hole(w);
            continue;
        }
        if (!pack_find_piece(w, &file->pieces[i], &run))
            return 0;
        add_piece(w, &file->pieces[i], &run);
    }
    if (pack_order_take(&w->order, path, executable ? PACK_PROGRAM : PACK_FILE, e) < 0)
        return -1;
    return end_file(w, path, executable, file->size, e) < 0 ? -1 : 1;
}

static int refer_unread(struct input *in, const struct pack_added *file, struct err *e)
{
    for (size_t i = 0; i < file->n_pieces; i++) {
        uint64_t left = file->size - in->offset;
        struct pack_piece piece = { file->pieces[i],
                                    left < PACK_PIECE_BYTES ? (uint32_t)left : PACK_PIECE_BYTES };
        struct pack_run run;

        if (digest_is_zero(&piece.digest)) {
            if (take_holes(in, 1, e) < 0)
                return -1;
            continue;
        }
        if (refer_to(in, &piece, file->n_pieces == 1, &run, e) < 0)
            return -1;
        add_piece(in->w, &piece.digest, &run);
        in->offset += piece.size;
    }
    return end_in_place(in, e);
}

int pack_add_in_place_unread(struct pack_writer *w, const char *path, bool executable,
                             const char *top, const struct pack_added *file, struct err *e)
{
    struct input in = { .w = w, .path = path, .executable = executable, .fd = -1, .top = top };
    int result = -1;

    if (file->n_pieces != (file->size + PACK_PIECE_BYTES - 1) / PACK_PIECE_BYTES)
        return 0;
    begin_file(w);
    if (check_on_share(&in, e) == 0 &&
        pack_order_take(&w->order, path, executable ? PACK_PROGRAM : PACK_FILE, e) == 0 &&
        refer_unread(&in, file, e) == 0)
        result = end_file(w, path, executable, file->size, e) < 0 ? -1 : 1;
    free_in_place(&in);
    return result;
}

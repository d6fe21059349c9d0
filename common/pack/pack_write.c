/* SPDX-License-Identifier: MIT */
/* pack_write.c - turns a tree into parts, lists, blocks and a manifest, in one pass */

#include "common/pack/pack_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/hash_table.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/pack/pack_block.h"
#include "common/pack/pack_part.h"
#include "common/pack/pack_tree.h"

struct pack_writer {
    struct pack_sink sink;
    struct pack_tree *tree;
    struct pack_summary summary; /* so far */

    /* The manifest's parts; an item is filled when its part is whole. */
    struct pack_part *parts;
    bool *part_done;
    size_t n_parts, parts_capacity;
    struct hash_table *by_list; /* index of the part with a list's digest */
    struct hash_table *seen;    /* part and place of pieces met earlier in this tree */
    struct part_writer *slots[PACK_SLOTS];
    uint32_t open[PACK_SLOTS]; /* index of the part that a slot writes */
    struct pack_list files;    /* PACK_FILES: files that stay in place, in a list not stored yet */
    size_t files_capacity;
    uint32_t files_part;

    /* The current block, and ended blocks that wait for their parts. */
    struct block_writer *block;
    struct block_closed *pending;
    size_t n_pending, pending_capacity, pending_bytes;
    struct manifest_block *blocks; /* blocks that were written */
    size_t n_blocks, blocks_capacity;

    /* The file at hand. */
    struct pack_run *runs;
    size_t n_runs, runs_capacity;
    struct digest *digests;
    size_t n_digests, digests_capacity;
    struct hasher *hasher; /* of pieces */
    uint8_t *piece;
};

enum {
    SMALL, /* slot of parts with whole files */
    LARGE,
    PENDING_MAX_BYTES = 8 * 1024 * 1024,
    SEEN_MAX = 768 * 1024, /* pieces of this tree that are remembered, in 16 MiB */
    SEEN_ENTRY_BITS = 16,  /* of a number in seen: the place in the part; other bits: the part */
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
    w->seen = hash_table_create(SEEN_MAX);
    w->by_list = hash_table_create(PACK_PARTS_MAX);
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
    hash_table_destroy(w->seen);
    hash_table_destroy(w->by_list);
    pack_tree_destroy(w->tree);
    hasher_destroy(w->hasher);
    free(w);
}

/* ---- parts ---- */

static int new_part(struct pack_writer *w, uint32_t *part, struct err *e)
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

static void part_is_done(struct pack_writer *w, uint32_t part, const struct pack_part *what)
{
    w->parts[part] = *what;
    w->part_done[part] = true;
    hash_table_add(w->by_list, &what->list, part);
}

static int flush_blocks(struct pack_writer *w, struct err *e);
static int end_list(struct pack_writer *w, struct pack_list *l, uint32_t part, struct err *e);

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
    part_is_done(w, w->open[slot], &part);
    return flush_blocks(w, e);
}

static int store_piece(struct pack_writer *w, bool is_whole_file, const struct part_piece *piece,
                       struct pack_run *run, struct err *e)
{
    unsigned slot = is_whole_file ? SMALL : LARGE;
    struct part_writer *to = w->slots[slot];

    if (part_writer_count(to) > 0 && !part_writer_has_room(to, piece->content.n) &&
        end_part(w, slot, e) < 0)
        return -1;
    if (part_writer_count(to) == 0 && new_part(w, &w->open[slot], e) < 0)
        return -1;
    *run = (struct pack_run){ w->open[slot], part_writer_count(to), 1, piece->content.n };
    if (part_writer_add(to, piece, e) < 0)
        return -1;
    if (run->part < SEEN_PARTS_MAX)
        hash_table_add(w->seen, &piece->digest, run->part << SEEN_ENTRY_BITS | run->first);
    w->summary.new_bytes += (int64_t)piece->content.n;
    return 0;
}

/* ---- pieces that are stored already ---- */

static bool find_piece(struct pack_writer *w, const struct digest *piece, struct pack_run *run)
{
    struct pack_place where;
    uint32_t seen, part;

    if (hash_table_find(w->seen, piece, &seen)) {
        *run = (struct pack_run){ .part = seen >> SEEN_ENTRY_BITS,
                                  .first = seen & ((1u << SEEN_ENTRY_BITS) - 1),
                                  .n = 1 };
        return true;
    }
    if (w->sink.known == NULL || !w->sink.known(w->sink.context, piece, &where))
        return false;
    /* A part on the share is added to the manifest when a piece of it is used. */
    if (!hash_table_find(w->by_list, &where.part->list, &part)) {
        if (new_part(w, &part, NULL) < 0)
            return false;
        part_is_done(w, part, where.part);
    }
    if (!digest_equal(&w->parts[part].list, &where.part->list))
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
        /* The manifest gets the block's name and first path. */
        mem_grow((void **)&w->blocks, &w->blocks_capacity, w->n_blocks, sizeof *w->blocks);
        w->blocks[w->n_blocks++] = (struct manifest_block){
            name, { (const uint8_t *)c->first, strlen(c->first) }, (int64_t)c->n
        };
        c->first = NULL;
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
    if (w->files.n > 0 && end_list(w, &w->files, w->files_part, e) < 0)
        return -1;
    return flush_blocks(w, e);
}

/* Ends the block.  If too many blocks wait for parts, ends the open parts early. */
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

static int add_entry(struct pack_writer *w, const struct pack_entry *entry, struct err *e)
{
    struct pack_totals *t = &w->summary.totals;

    if (block_writer_is_cut_before(w->block, entry->path, entry->kind) && end_block(w, e) < 0)
        return -1;
    if (block_writer_add(w->block, entry, e) < 0)
        return -1;
    switch (entry->kind) {
    case PACK_FOLDER: t->folders++; break;
    case PACK_SYMLINK: t->links++; break;
    default: t->files++; break;
    }
    t->bytes += (int64_t)entry->size;
    for (size_t i = 0; i < entry->n_runs; i++)
        if (entry->runs[i].part == PACK_HOLE)
            t->hole_bytes += (int64_t)entry->runs[i].bytes;
    pack_tree_entry(w->tree, entry);
    return 0;
}

int pack_add_folder(struct pack_writer *w, const char *path, struct err *e)
{
    struct pack_entry entry = { .path = path, .kind = PACK_FOLDER };

    return pack_tree_check(w->tree, path, entry.kind, e) < 0 ? -1 : add_entry(w, &entry, e);
}

int pack_add_symlink(struct pack_writer *w, const char *path, const char *target, struct err *e)
{
    struct pack_entry entry = { .path = path, .target = target, .kind = PACK_SYMLINK };
    size_t n = strlen(target);

    if (n == 0 || n > PACK_PATH_MAX)
        return err_set(e, ERR_FAILED, "%s points to what is no path", path);
    return pack_tree_check(w->tree, path, entry.kind, e) < 0 ? -1 : add_entry(w, &entry, e);
}

int pack_add_hard_link(struct pack_writer *w, const char *path, const char *target, struct err *e)
{
    struct pack_entry entry = { .path = path, .target = target, .kind = PACK_HARD_LINK };

    if (pack_path_check(target, strlen(target), e) < 0 ||
        pack_tree_check(w->tree, path, entry.kind, e) < 0)
        return -1;
    if (pack_path_compare(target, path) >= 0)
        return err_set(e, ERR_PROTOCOL, "%s is linked to what did not come before", path);
    return add_entry(w, &entry, e);
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

/* ---- runs of the file at hand ---- */

static void add_piece(struct pack_writer *w, const struct digest *digest,
                      const struct pack_run *run)
{
    struct pack_run *last = w->n_runs > 0 ? &w->runs[w->n_runs - 1] : NULL;

    mem_grow((void **)&w->digests, &w->digests_capacity, w->n_digests, sizeof *w->digests);
    w->digests[w->n_digests++] = *digest;
    if (last != NULL && last->part == run->part &&
        (run->part == PACK_HOLE || last->first + last->n == run->first)) {
        last->n += run->n;
        last->bytes += run->bytes;
        return;
    }
    mem_grow((void **)&w->runs, &w->runs_capacity, w->n_runs, sizeof *w->runs);
    w->runs[w->n_runs++] = *run;
}

static void add_hole(struct pack_writer *w)
{
    add_piece(w, &(struct digest){ 0 },
              &(struct pack_run){ .part = PACK_HOLE, .bytes = PACK_PIECE_BYTES });
}

static int end_file(struct pack_writer *w, const char *path, bool executable, uint64_t size,
                    struct err *e)
{
    struct pack_entry entry = { .path = path,
                                .runs = w->runs,
                                .n_runs = w->n_runs,
                                .size = size,
                                .kind = executable ? PACK_PROGRAM : PACK_FILE };
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
    return add_entry(w, &entry, e);
}

/* ---- reading ---- */

struct input {
    struct pack_writer *w;
    const char *path;
    bool executable;
    int fd;
    uint64_t offset;
    const char *top; /* of a file that stays in place: path of its tree on the share; else NULL */
    struct pack_list in_place; /* pieces of a file of several that are not listed yet */
    size_t in_place_capacity;
    uint32_t in_place_part;
};

/* The number of whole pieces from here on that lie in a hole of the file and need no reading. */
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

/* ---- files that stay in place ---- */

static int end_list(struct pack_writer *w, struct pack_list *l, uint32_t part, struct err *e)
{
    struct buf stored = { 0 };
    int result;

    pack_list_encode(l, &stored);
    part_is_done(w, part, &l->part);
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

/* Lists a piece.  is_whole_file: the piece is a whole file, and is listed with other files. */
static int refer_to(struct input *in, const struct pack_piece *piece, bool is_whole_file,
                    struct pack_run *run, struct err *e)
{
    struct pack_writer *w = in->w;
    struct pack_list *l = is_whole_file ? &w->files : &in->in_place;
    size_t *capacity = is_whole_file ? &w->files_capacity : &in->in_place_capacity;
    uint32_t *part = is_whole_file ? &w->files_part : &in->in_place_part;
    bool is_full = l->n == PACK_PIECES_MAX ||
                   (is_whole_file && l->part.stored_bytes + piece->size > PACK_PART_BYTES);

    if (is_full && l->n > 0 && end_list(w, l, *part, e) < 0)
        return -1;
    if (l->n == 0) {
        if (new_part(w, part, e) < 0)
            return -1;
        l->part = (struct pack_part){ .form = is_whole_file ? PACK_FILES : PACK_IN_PLACE };
        l->offset = is_whole_file ? 0 : in->offset;
        if (l->path == NULL)
            l->path = is_whole_file ? mem_strdup(in->top) : path_on_share(in);
    }
    mem_grow((void **)&l->pieces, capacity, l->n, sizeof *l->pieces);
    l->pieces[l->n++] = *piece;
    l->part.stored_bytes += piece->size;
    *run = (struct pack_run){ *part, l->n - 1, 1, piece->size };
    return 0;
}

/* ---- piece by piece ---- */

static int take_holes(struct input *in, uint64_t n, struct err *e)
{
    /* A list in place has consecutive pieces, so a hole ends it. */
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

/* Takes the next holes or piece; returns 1, 0 at the end of the file, -1 with e set. */
static int take_next(struct input *in, struct err *e)
{
    uint64_t holes = in->offset > 0 ? hole_pieces(in) : 0;
    struct pack_writer *w = in->w;
    struct part_piece piece = { .path = in->path, .executable = in->executable };
    bool is_whole_file;
    struct pack_run run;
    int result = 0;
    ssize_t got;
    size_t n;

    if (in->offset + holes * PACK_PIECE_BYTES > PACK_FILE_BYTES_MAX)
        return say_too_large(in, e);
    if (holes > 0)
        return take_holes(in, holes, e) < 0 ? -1 : 1;
    /* One more byte tells whether the file goes on. */
    got = io_read_all_at(in->fd, w->piece, PACK_PIECE_BYTES + 1, in->offset);
    if (got < 0)
        return err_sys(e, "read %s", in->path);
    n = got < PACK_PIECE_BYTES ? (size_t)got : PACK_PIECE_BYTES;
    if (n == 0)
        return 0;
    is_whole_file = in->offset == 0 && (size_t)got == n;
    if (n == PACK_PIECE_BYTES && w->piece[0] == 0 && memcmp(w->piece, w->piece + 1, n - 1) == 0) {
        result = take_holes(in, 1, e);
    } else {
        piece.content = (struct bytes){ w->piece, n };
        hasher_add(w->hasher, w->piece, n);
        hasher_end(w->hasher, &piece.digest);
        if (in->top != NULL)
            result = refer_to(in, &(struct pack_piece){ piece.digest, (uint32_t)n }, is_whole_file,
                              &run, e);
        else if (!find_piece(w, &piece.digest, &run))
            result = store_piece(w, is_whole_file, &piece, &run, e);
        if (result == 0)
            add_piece(w, &piece.digest, &run);
        in->offset += n;
    }
    return result < 0 ? -1 : (size_t)got > n;
}

static int take_file(struct input *in, struct pack_added *added, struct err *e)
{
    struct pack_writer *w = in->w;
    int more;

    if (pack_tree_check(w->tree, in->path, in->executable ? PACK_PROGRAM : PACK_FILE, e) < 0)
        return -1;
    if (w->piece == NULL)
        w->piece = mem_resize(NULL, PACK_PIECE_BYTES + 1, 1);
    w->n_runs = w->n_digests = 0;
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
    w->n_runs = w->n_digests = 0;
    for (size_t i = 0; i < file->n_pieces; i++) {
        if (digest_is_zero(&file->pieces[i])) { /* a hole */
            add_hole(w);
            continue;
        }
        if (!find_piece(w, &file->pieces[i], &run))
            return 0;
        add_piece(w, &file->pieces[i], &run);
    }
    if (pack_tree_check(w->tree, path, executable ? PACK_PROGRAM : PACK_FILE, e) < 0)
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
    w->n_runs = w->n_digests = 0;
    if (check_on_share(&in, e) == 0 &&
        pack_tree_check(w->tree, path, executable ? PACK_PROGRAM : PACK_FILE, e) == 0 &&
        refer_unread(&in, file, e) == 0)
        result = end_file(w, path, executable, file->size, e) < 0 ? -1 : 1;
    free_in_place(&in);
    return result;
}

/* SPDX-License-Identifier: MIT */
/* pack_tree.c - trees that were packed are what they were */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/pack_store.h"

/* What goes into a tree, and what comes out. */
struct thing {
    enum pack_kind kind;
    const char *path;
    const char *target;
    size_t size;
    unsigned seed; /* of random content; 0: zeros */
};

enum { MIB = 1024 * 1024 };

/* ---- content ---- */

static uint8_t *content_of(const struct thing *t)
{
    uint8_t *bytes = mem_alloc(t->size);
    uint64_t x = t->seed * 0x9e3779b97f4a7c15;

    if (t->seed != 0)
        for (size_t i = 0; i < t->size; i++) {
            x = x * 6364136223846793005 + 1442695040888963407;
            bytes[i] = (uint8_t)(x >> 56);
        }
    return bytes;
}

/* ---- packing ---- */

static void add(struct pack_writer *w, const struct thing *t)
{
    struct err e = { 0 };
    struct pack_added added;
    uint8_t *bytes;
    int fd, result;

    switch (t->kind) {
    case PACK_FOLDER: result = pack_add_folder(w, t->path, &e); break;
    case PACK_SYMLINK: result = pack_add_symlink(w, t->path, t->target, &e); break;
    case PACK_HARD_LINK: result = pack_add_hard_link(w, t->path, t->target, &e); break;
    default:
        bytes = content_of(t);
        fd = file_of(bytes, t->size);
        result = pack_add_file(w, t->path, t->kind == PACK_PROGRAM, fd, &added, &e);
        assert_int_equal(added.size, t->size);
        close(fd);
        free(bytes);
    }
    if (result < 0)
        fail_msg("%s", e.text);
}

static struct pack_summary pack(struct store *s, const struct thing *things, size_t n)
{
    struct pack_sink sink = store_sink(s);
    struct pack_writer *w = pack_writer_create(&sink);
    struct pack_summary summary;
    struct err e = { 0 };

    for (size_t i = 0; i < n; i++)
        add(w, &things[i]);
    if (pack_end(w, &summary, &e) < 0)
        fail_msg("%s", e.text);
    pack_writer_destroy(w);
    return summary;
}

/* ---- and back ---- */

static void read_piece(struct store *s, const struct pack_list *l, uint32_t which, struct buf *out)
{
    struct part_reader *r = part_reader_create();
    struct buf path = { 0 };
    struct reading reading = { .most = 100000 };
    struct bytes content = { 0 };
    struct err e = { 0 };

    pack_part_path(&path, &l->part);
    assert_non_null(store_find(s, buf_text(&path)));
    reading.from = buf_bytes(&store_find(s, buf_text(&path))->bytes);
    part_begin(r, l, reading_read, &reading);
    for (uint32_t i = 0; i <= which; i++)
        if (part_next(r, i == which ? &content : NULL, &e) != 1)
            fail_msg("%s", e.text);
    buf_add(out, content.data, content.n);
    part_reader_destroy(r);
    buf_free(&path);
}

static void read_content(struct store *s, struct pack_reader *r, const struct pack_entry *entry,
                         struct buf *out)
{
    for (size_t i = 0; i < entry->n_runs; i++) {
        const struct pack_run *run = &entry->runs[i];

        if (run->part == PACK_HOLE) {
            memset(buf_reserve(out, run->bytes), 0, run->bytes);
            buf_added(out, run->bytes);
            continue;
        }
        for (uint32_t k = 0; k < run->n; k++)
            read_piece(s, pack_list_of(r, run->part, NULL), run->first + k, out);
    }
}

static void check_entry(struct store *s, struct pack_reader *r, const struct pack_entry *entry,
                        const struct thing *t)
{
    struct buf content = { 0 };
    uint8_t *bytes;

    assert_string_equal(entry->path, t->path);
    assert_int_equal(entry->kind, t->kind);
    if (t->target != NULL)
        assert_string_equal(entry->target, t->target);
    assert_int_equal(entry->size, t->size);
    bytes = content_of(t);
    read_content(s, r, entry, &content);
    assert_int_equal(content.n, t->size);
    assert_true(t->size == 0 || memcmp(buf_text(&content), bytes, t->size) == 0);
    buf_free(&content);
    free(bytes);
}

static void check(struct store *s, const struct digest *id, const struct thing *things, size_t n)
{
    struct pack_source source = store_source(s);
    struct err e = { 0 };
    struct pack_reader *r = pack_open(&source, id, &e);
    struct pack_entry entry;

    if (r == NULL)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < n; i++) {
        if (pack_next(r, &entry, &e) != 1)
            fail_msg("%s: %s", things[i].path, e.text);
        check_entry(s, r, &entry, &things[i]);
    }
    if (pack_next(r, &entry, &e) != 0)
        fail_msg("%s", e.text);
    pack_close(r);
}

static void round_trip(const struct thing *things, size_t n)
{
    struct store s = { 0 };
    struct pack_summary summary = pack(&s, things, n);

    check(&s, &summary.id, things, n);
    store_free(&s);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- tests ---- */

static void all_kinds_of_entries_come_back(void **state)
{
    static const struct thing tree[] = {
        { PACK_FILE, "a name\nwith a newline", NULL, 10, 1 },
        { PACK_FOLDER, "dir", NULL, 0, 0 },
        { PACK_FILE, "dir/empty", NULL, 0, 0 },
        { PACK_FILE, "dir/one", NULL, 1, 2 },
        { PACK_PROGRAM, "dir/program", NULL, 5000, 3 },
        { PACK_SYMLINK, "dir/to itself", "to itself", 0, 0 },
        { PACK_FILE, "dir.txt", NULL, 100, 4 },
        { PACK_FOLDER, "empty folder", NULL, 0, 0 },
        { PACK_HARD_LINK, "link", "dir/one", 0, 0 },
        { PACK_FILE, "same as dir.txt", NULL, 100, 4 },
        { PACK_SYMLINK, "up", "../../etc/passwd", 0, 0 },
        { PACK_FILE, "zero", NULL, 1, 0 },
        { PACK_FOLDER, "\xff\xfe", NULL, 0, 0 },
        { PACK_FILE, "\xff\xfe/\x80", NULL, 3, 5 },
    };

    (void)state;
    round_trip(tree, COUNT(tree));
}

static void an_empty_tree_and_a_tree_of_one_file_come_back(void **state)
{
    static const struct thing file = { PACK_PROGRAM, "", NULL, 77, 1 };

    (void)state;
    round_trip(NULL, 0);
    round_trip(&file, 1);
}

static void files_of_all_sizes_come_back(void **state)
{
    static const struct {
        size_t size;
        unsigned seed;
    } files[] = {
        { PACK_PIECE_BYTES - 1, 1 }, { PACK_PIECE_BYTES, 2 },
        { PACK_PIECE_BYTES + 1, 3 }, { 64 * MIB, 4 },
        { 64 * MIB + 1, 5 },         { 100 * MIB, 6 },
        { PACK_PIECE_BYTES - 1, 0 }, { PACK_PIECE_BYTES, 0 },
        { PACK_PIECE_BYTES + 1, 0 }, { 64 * MIB, 0 },
        { 3 * PACK_PIECE_BYTES, 7 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        struct thing thing = { PACK_FILE, "file", NULL, files[i].size, files[i].seed };
        struct store s = { 0 };
        struct pack_summary summary = pack(&s, &thing, 1);

        check(&s, &summary.id, &thing, 1);
        /* Random content takes what it has, zeros take nothing. */
        if (files[i].seed != 0)
            assert_true(s.new_bytes <= files[i].size + files[i].size / 1000 + 5000);
        else
            assert_true(s.new_bytes < 5000);
        store_free(&s);
    }
}

static void small_files_around_large_ones_share_parts(void **state)
{
    static const struct thing tree[] = {
        { PACK_FILE, "a", NULL, 1000, 1 },    { PACK_FILE, "b", NULL, 20 * MIB, 2 },
        { PACK_FILE, "c", NULL, 1000, 3 },    { PACK_FILE, "d", NULL, 20 * MIB, 4 },
        { PACK_FILE, "e", NULL, 7 * MIB, 5 },
    };
    struct store s = { 0 };
    struct pack_summary summary = pack(&s, tree, COUNT(tree));

    (void)state;
    check(&s, &summary.id, tree, COUNT(tree));
    /* two parts with their lists, a block, the manifest */
    assert_int_equal(s.n, 6);
    store_free(&s);
}

static void parts_hold_up_to_64_mib(void **state)
{
    struct thing tree[20];
    char names[20][8];
    struct store s = { 0 };
    struct pack_summary summary;
    size_t n_parts = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(tree); i++) {
        snprintf(names[i], sizeof names[i], "f%02zu", i);
        tree[i] = (struct thing){ PACK_FILE, names[i], NULL, 7 * MIB, (unsigned)i + 1 };
    }
    summary = pack(&s, tree, COUNT(tree));
    check(&s, &summary.id, tree, COUNT(tree));
    for (size_t i = 0; i < s.n; i++) {
        n_parts += strstr(s.items[i].path, ".tar.zst") != NULL;
        assert_true(s.items[i].bytes.n <= PACK_STORED_BYTES_MAX);
    }
    assert_int_equal(n_parts, 3);
    store_free(&s);
}

static void what_is_there_already_is_not_stored_again(void **state)
{
    static const struct thing tree[] = {
        { PACK_FILE, "a", NULL, 1000, 1 },
        { PACK_FILE, "b", NULL, 20 * MIB, 2 },
        { PACK_FILE, "c", NULL, 1000, 1 },
    };
    static const struct thing other[] = {
        { PACK_FILE, "a", NULL, 1000, 1 },
        { PACK_FILE, "b", NULL, 20 * MIB, 2 },
        { PACK_FILE, "d", NULL, 2000, 3 },
    };
    struct store s = { 0 };
    struct pack_summary first = pack(&s, tree, COUNT(tree)), second, third;
    size_t n = s.n;

    (void)state;
    assert_int_equal(first.new_bytes, 1000 + 20 * MIB);
    second = pack(&s, tree, COUNT(tree));
    assert_memory_equal(&second.id, &first.id, sizeof first.id);
    assert_int_equal(s.n, n);
    third = pack(&s, other, COUNT(other));
    assert_int_equal(third.new_bytes, 2000);
    assert_int_equal(s.n, n + 4);
    check(&s, &third.id, other, COUNT(other));
    check(&s, &first.id, tree, COUNT(tree));
    store_free(&s);
}

static void a_tree_has_one_digest_wherever_it_lies(void **state)
{
    static const struct thing more[] = {
        { PACK_FILE, "0", NULL, 3000, 9 },
        { PACK_FILE, "a", NULL, 1000, 1 },
        { PACK_FILE, "b", NULL, 20 * MIB, 2 },
    };
    struct store x = { 0 }, y = { 0 };
    struct pack_summary alone = pack(&x, more + 1, 2), later;

    (void)state;
    pack(&y, more, 3);
    later = pack(&y, more + 1, 2);
    assert_memory_equal(&later.tree, &alone.tree, sizeof alone.tree);
    assert_memory_not_equal(&later.id, &alone.id, sizeof alone.id);
    store_free(&x);
    store_free(&y);
}

static void a_file_that_was_not_read_again_is_the_same(void **state)
{
    static const struct thing file = { PACK_FILE, "b", NULL, 20 * MIB + 5, 2 };
    struct store s = { 0 };
    struct pack_summary first = pack(&s, &file, 1), second;
    struct pack_sink sink = store_sink(&s);
    struct pack_writer *w = pack_writer_create(&sink);
    struct digest pieces[3];
    struct pack_added added = { pieces, 3, file.size };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        pieces[i] = s.pieces[i].digest;
    assert_int_equal(pack_add_unread(w, "b", false, &added, NULL), 1);
    assert_int_equal(pack_end(w, &second, NULL), 0);
    assert_memory_equal(&second.id, &first.id, sizeof first.id);
    pack_writer_destroy(w);

    s.n_pieces = 2; /* the third is gone */
    w = pack_writer_create(&sink);
    assert_int_equal(pack_add_unread(w, "b", false, &added, NULL), 0);
    added.n_pieces = 2; /* does not go with the size */
    assert_int_equal(pack_add_unread(w, "b", false, &added, NULL), 0);
    add(w, &file);
    assert_int_equal(pack_end(w, &second, NULL), 0);
    check(&s, &second.id, &file, 1);
    pack_writer_destroy(w);
    store_free(&s);
}

/* ---- sparse ---- */

static void ten_gib_of_nothing_cost_nothing(void **state)
{
    struct store s = { 0 };
    struct pack_sink sink = store_sink(&s);
    struct pack_writer *w = pack_writer_create(&sink);
    int fd = memfd_create("sparse", MFD_CLOEXEC);
    struct pack_source source = store_source(&s);
    struct pack_summary summary;
    struct pack_added added;
    struct pack_reader *r;
    struct pack_entry entry;
    struct err e = { 0 };
    const int64_t size = (int64_t)10 * 1024 * MIB;

    (void)state;
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(pwrite(fd, "x", 1, size / 2), 1);
    assert_int_equal(pack_add_file(w, "f", false, fd, &added, &e), 0);
    assert_int_equal(added.n_pieces, size / PACK_PIECE_BYTES);
    assert_int_equal(pack_end(w, &summary, &e), 0);
    assert_true(s.new_bytes < 10000);
    assert_int_equal(summary.totals.bytes, size);
    assert_int_equal(summary.totals.hole_bytes, size - PACK_PIECE_BYTES);
    r = pack_open(&source, &summary.id, &e);
    assert_int_equal(pack_next(r, &entry, &e), 1);
    assert_int_equal(entry.size, size);
    assert_int_equal(entry.n_runs, 3);
    assert_int_equal(pack_next(r, &entry, &e), 0);
    pack_close(r);
    pack_writer_destroy(w);
    close(fd);
    store_free(&s);
}

/* ---- in place ---- */

static void a_file_that_stays_in_place_is_listed_and_not_copied(void **state)
{
    struct thing what = { PACK_FILE, "data", NULL, 20 * MIB, 1 };
    struct store s = { 0 };
    struct pack_sink sink = store_sink(&s);
    struct pack_writer *w = pack_writer_create(&sink);
    struct pack_source source = store_source(&s);
    uint8_t *bytes = content_of(&what);
    struct part_reader *parts = part_reader_create();
    struct pack_summary summary;
    struct pack_added added;
    struct pack_entry entry;
    struct pack_reader *r;
    const struct pack_list *l;
    struct reading reading;
    struct bytes content;
    struct err e = { 0 };
    int fd;

    (void)state;
    memset(bytes, 0, PACK_PIECE_BYTES);
    fd = file_of(bytes, what.size);
    assert_int_equal(pack_add_in_place(w, "f", true, fd, "sets", &added, &e), 0);
    assert_int_equal(pack_end(w, &summary, &e), 0);
    assert_int_equal(summary.new_bytes, 0);
    assert_int_equal(s.n, 3);
    r = pack_open(&source, &summary.id, &e);
    assert_int_equal(pack_next(r, &entry, &e), 1);
    assert_int_equal(entry.n_runs, 2);
    assert_int_equal(entry.runs[0].part, PACK_HOLE);
    l = pack_list_of(r, entry.runs[1].part, &e);
    assert_int_equal(l->part.form, PACK_IN_PLACE);
    assert_string_equal(l->path, "sets/f");
    assert_int_equal(l->offset, PACK_PIECE_BYTES);
    reading = (struct reading){ .from = { bytes + l->offset, what.size - l->offset } };
    part_begin(parts, l, reading_read, &reading);
    assert_int_equal(part_next(parts, &content, &e), 1);
    assert_memory_equal(content.data, bytes + PACK_PIECE_BYTES, PACK_PIECE_BYTES);
    bytes[17 * MIB] ^= 1;
    assert_int_equal(part_next(parts, &content, &e), -1);
    assert_non_null(strstr(e.text, "sets/f"));
    part_reader_destroy(parts);
    pack_close(r);
    pack_writer_destroy(w);
    close(fd);
    free(bytes);
    store_free(&s);
}

static struct pack_summary list_in_place(struct store *s, const struct thing *t, bool is_read)
{
    struct pack_sink sink = store_sink(s);
    struct pack_writer *w = pack_writer_create(&sink);
    uint8_t *bytes = content_of(t);
    struct digest digest;
    struct pack_added added = { &digest, 1, t->size };
    struct pack_summary summary;
    struct err e = { 0 };
    int fd = file_of(bytes, t->size);

    digest_of(bytes, t->size, &digest);
    assert_int_equal(pack_add_folder(w, "d", &e), 0);
    if (is_read)
        assert_int_equal(pack_add_in_place(w, t->path, true, fd, "sets", &added, &e), 0);
    else
        assert_int_equal(pack_add_in_place_unread(w, t->path, true, "sets", &added, &e), 1);
    assert_int_equal(pack_end(w, &summary, &e), 0);
    pack_writer_destroy(w);
    close(fd);
    free(bytes);
    return summary;
}

static void small_files_that_stay_are_listed_together(void **state)
{
    static const struct thing things[] = { { PACK_FOLDER, "d", NULL, 0, 0 },
                                           { PACK_PROGRAM, "d/f", NULL, 5000, 2 } };
    struct store s = { 0 }, packed = { 0 };
    struct pack_source source = store_source(&s);
    struct pack_summary summary = list_in_place(&s, &things[1], true), again, copied;
    struct pack_reader *r;
    struct pack_entry entry;
    const struct pack_list *l;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(s.n, 3); /* list, block and manifest: no part */
    assert_int_equal(summary.new_bytes, 0);
    again = list_in_place(&s, &things[1], false);
    assert_true(digest_equal(&again.id, &summary.id));
    copied = pack(&packed, things, 2);
    assert_true(digest_equal(&copied.tree, &summary.tree));
    r = pack_open(&source, &summary.id, &e);
    assert_int_equal(pack_next(r, &entry, &e), 1);
    assert_int_equal(pack_next(r, &entry, &e), 1);
    assert_int_equal(entry.n_runs, 1);
    l = pack_list_of(r, entry.runs[0].part, &e);
    assert_int_equal(l->part.form, PACK_FILES);
    assert_string_equal(l->path, "sets");
    assert_int_equal(l->pieces[entry.runs[0].first].size, 5000);
    assert_int_equal(pack_next(r, &entry, &e), 0);
    pack_close(r);
    store_free(&s);
    store_free(&packed);
}

static void a_large_file_that_stays_need_not_be_read_again(void **state)
{
    struct thing what = { PACK_FILE, "f", NULL, 20 * MIB, 1 };
    struct store s = { 0 };
    struct pack_sink sink = store_sink(&s);
    struct pack_writer *w = pack_writer_create(&sink);
    uint8_t *bytes = content_of(&what);
    struct pack_summary first, second;
    struct pack_added added;
    struct digest pieces[3];
    struct err e = { 0 };
    int fd;

    (void)state;
    memset(bytes + PACK_PIECE_BYTES, 0, PACK_PIECE_BYTES);
    fd = file_of(bytes, what.size);
    assert_int_equal(pack_add_in_place(w, "f", false, fd, "sets", &added, &e), 0);
    assert_int_equal(added.n_pieces, 3);
    memcpy(pieces, added.pieces, sizeof pieces);
    added.pieces = pieces;
    assert_int_equal(pack_end(w, &first, &e), 0);
    pack_writer_destroy(w);
    w = pack_writer_create(&sink);
    assert_int_equal(pack_add_in_place_unread(w, "f", false, "sets", &added, &e), 1);
    assert_int_equal(pack_end(w, &second, &e), 0);
    assert_true(digest_equal(&first.id, &second.id));
    pack_writer_destroy(w);
    close(fd);
    free(bytes);
    store_free(&s);
}

/* Two lists are the same, and so one part has two numbers. */
static void more_files_of_one_content_than_a_list_takes_may_stay(void **state)
{
    enum { FILES = 2 * PACK_PIECES_MAX + 1 };

    struct store s = { 0 };
    struct pack_sink sink = store_sink(&s);
    struct pack_source source = store_source(&s);
    struct pack_writer *w = pack_writer_create(&sink);
    struct digest digest;
    const struct pack_added file = { &digest, 1, 10 };
    struct pack_summary summary;
    struct pack_entry entry;
    struct pack_reader *r;
    struct err e = { 0 };
    int n = 0;

    (void)state;
    digest_of("0123456789", 10, &digest);
    for (int i = 0; i < FILES; i++) {
        char path[16];

        snprintf(path, sizeof path, "f%07d", i);
        assert_int_equal(pack_add_in_place_unread(w, path, false, "sets", &file, &e), 1);
    }
    assert_int_equal(pack_end(w, &summary, &e), 0);
    pack_writer_destroy(w);
    r = pack_open(&source, &summary.id, &e);
    while (pack_next(r, &entry, &e) == 1)
        n++;
    assert_string_equal(e.text, "");
    assert_int_equal(n, FILES);
    pack_close(r);
    store_free(&s);
}

/* ---- failing ---- */

/* A sink that fails at the call that brings left to zero. */
struct failing {
    struct pack_sink to;
    int left;
};

static int fails(struct failing *f, struct err *e)
{
    return --f->left == 0 ? err_set(e, ERR_NO_SPACE, "the disk is full") : 0;
}

static int failing_begin(void *context, unsigned slot, struct err *e)
{
    struct failing *f = context;

    return fails(f, e) < 0 ? -1 : f->to.part_begin(f->to.context, slot, e);
}

static int failing_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    struct failing *f = context;

    return fails(f, e) < 0 ? -1 : f->to.part_write(f->to.context, slot, bytes, e);
}

static int failing_end(void *context, unsigned slot, const struct pack_part *part,
                       struct bytes list, struct err *e)
{
    struct failing *f = context;

    return fails(f, e) < 0 ? -1 : f->to.part_end(f->to.context, slot, part, list, e);
}

static int failing_object(void *context, enum pack_object kind, const struct digest *name,
                          struct bytes bytes, struct err *e)
{
    struct failing *f = context;

    return fails(f, e) < 0 ? -1 : f->to.object(f->to.context, kind, name, bytes, e);
}

static bool failing_known(void *context, const struct digest *piece, struct pack_place *where)
{
    struct failing *f = context;

    return f->to.known(f->to.context, piece, where);
}

static int pack_with(const struct pack_sink *sink, const int fds[2], struct pack_summary *summary,
                     struct err *e)
{
    struct pack_writer *w = pack_writer_create(sink);
    struct pack_added added;
    int result = pack_add_file(w, "large", false, fds[0], &added, e);

    if (result == 0)
        result = pack_add_file(w, "small", true, fds[1], &added, e);
    if (result == 0)
        result = pack_end(w, summary, e);
    pack_writer_destroy(w);
    return result;
}

static void
a_sink_that_fails_ends_the_packing_and_what_was_stored_is_used_the_next_time(void **state)
{
    static const struct thing things[] = { { PACK_FILE, "large", NULL, PACK_PIECE_BYTES + 9, 1 },
                                           { PACK_PROGRAM, "small", NULL, 300, 2 } };
    uint8_t *large = content_of(&things[0]), *small = content_of(&things[1]);
    int fds[2] = { file_of(large, things[0].size), file_of(small, things[1].size) };
    struct store s = { 0 };
    struct failing f = { .to = store_sink(&s) };
    struct pack_sink sink = { .context = &f,
                              .part_begin = failing_begin,
                              .part_write = failing_write,
                              .part_end = failing_end,
                              .object = failing_object,
                              .known = failing_known };
    struct pack_summary summary;
    int n_failed = 0;

    (void)state;
    for (;; n_failed++) {
        struct err e = { 0 };

        f.left = n_failed + 1;
        if (pack_with(&sink, fds, &summary, &e) == 0)
            break;
        assert_int_equal(e.kind, ERR_NO_SPACE);
        assert_true(n_failed < 100);
    }
    assert_true(n_failed >= 4);
    /* The small file's part was whole when a try failed, and the next one did not store it again. */
    assert_int_equal(summary.new_bytes, things[0].size);
    check(&s, &summary.id, things, 2);
    for (size_t i = 0; i < 2; i++)
        close(fds[i]);
    free(large);
    free(small);
    store_free(&s);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct store s = { 0 };
    struct pack_sink sink = store_sink(&s);
    struct pack_writer *w = pack_writer_create(&sink);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct pack_added added;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(pack_add_file(w, "secret", false, fd, &added, &e), -1);
    assert_non_null(strstr(e.text, "read secret"));
    close(fd);
    pack_writer_destroy(w);
    store_free(&s);
}

/* ---- what changes cost ---- */

enum { MANY = 50000, MANY_SIZE = 500, PER_FOLDER = 500 };

/* One in a hundred has a higher version, scattered. */
static struct pack_summary pack_many(struct store *s, bool changed)
{
    struct pack_sink sink = store_sink(s);
    struct pack_writer *w = pack_writer_create(&sink);
    struct pack_summary summary;
    struct pack_added added;
    char path[32];
    uint8_t bytes[MANY_SIZE];
    int fd = file_of("", 0);

    for (unsigned i = 0; i < MANY; i++) {
        uint64_t x = i * 0x9e3779b97f4a7c15 + 1;

        x += changed && (x >> 32) % 100 == 0;
        for (size_t k = 0; k < MANY_SIZE; k++) {
            x = x * 6364136223846793005 + 1442695040888963407;
            bytes[k] = (uint8_t)(x >> 56);
        }
        assert_int_equal(pwrite(fd, bytes, sizeof bytes, 0), sizeof bytes);
        snprintf(path, sizeof path, "class_%03u/img_%05u.png", i / PER_FOLDER, i);
        if (i % PER_FOLDER == 0) {
            path[9] = '\0';
            assert_int_equal(pack_add_folder(w, path, NULL), 0);
            path[9] = '/';
        }
        assert_int_equal(pack_add_file(w, path, false, fd, &added, NULL), 0);
    }
    close(fd);
    assert_int_equal(pack_end(w, &summary, NULL), 0);
    pack_writer_destroy(w);
    return summary;
}

static void one_changed_file_in_a_hundred_costs_less_than_three_percent(void **state)
{
    struct store s = { 0 };
    struct pack_summary summary;
    size_t first;

    (void)state;
    pack_many(&s, false);
    first = s.new_bytes;
    assert_true(first > (size_t)MANY * MANY_SIZE);
    pack_many(&s, false);
    assert_int_equal(s.new_bytes, first);
    summary = pack_many(&s, true);
    assert_true(summary.new_bytes > MANY * MANY_SIZE / 125);
    assert_true(summary.new_bytes < MANY * MANY_SIZE / 80);
    print_message("%zu bytes the first time, %zu the second\n", first, s.new_bytes - first);
    assert_true(s.new_bytes - first < first / 100 * 3);
    store_free(&s);
}

/* Blocks end where their content says so: what comes in front changes few of them. */
static void a_new_folder_changes_the_blocks_around_it_only(void **state)
{
    enum { FOLDERS = 20000 };
    struct store s = { 0 };
    struct err e = { 0 };

    (void)state;
    for (int more = 0; more < 2; more++) {
        struct pack_sink sink = store_sink(&s);
        struct pack_writer *w = pack_writer_create(&sink);
        struct pack_summary summary;
        size_t n_blocks = 0, before = s.n;
        char path[32];

        if (more && pack_add_folder(w, "an additional one", &e) < 0)
            fail_msg("%s", e.text);
        for (int i = 0; i < FOLDERS; i++) {
            snprintf(path, sizeof path, "folder %09d", i * 7919 + i % 13);
            if (pack_add_folder(w, path, &e) < 0)
                fail_msg("%s", e.text);
        }
        assert_int_equal(pack_end(w, &summary, NULL), 0);
        pack_writer_destroy(w);
        for (size_t i = before; i < s.n; i++)
            n_blocks += strstr(s.items[i].path, ".block") != NULL;
        assert_true(more ? n_blocks <= 2 : n_blocks >= 5);
    }
    store_free(&s);
}

/* ---- order ---- */

static void what_is_out_of_order_is_refused(void **state)
{
    static const char *const pairs[][2] = {
        { "b", "a" }, { "a", "a" },  { "a.txt", "a" }, { "a", "../b" }, { "a", "b/c" },
        { "a", "" },  { "a", "/b" }, { "a", "b/" },    { "a", "b//c" }, { "a", "b/./c" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct store s = { 0 };
        struct pack_sink sink = store_sink(&s);
        struct pack_writer *w = pack_writer_create(&sink);

        assert_int_equal(pack_add_folder(w, pairs[i][0], NULL), 0);
        if (pack_add_folder(w, pairs[i][1], NULL) == 0)
            fail_msg("\"%s\" after \"%s\"", pairs[i][1], pairs[i][0]);
        pack_writer_destroy(w);
        store_free(&s);
    }
}

#define HEX "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

static void names_tell_what_a_file_is(void **state)
{
    static const struct {
        const char *name;
        bool has_ending, is_block, is_list, is_part;
    } cases[] = {
        { HEX ".block", true, true, false, false },  { HEX ".list", true, false, true, false },
        { HEX ".raw", true, false, false, true },    { HEX ".tar.zst", true, false, false, true },
        { HEX ".zst", true, false, false, true },    { HEX ".in-place", true, false, false, false },
        { HEX ".files", true, false, false, false }, { HEX ".zst.bad", true, false, false, false },
        { HEX ".", true, false, false, false },      { HEX, false, false, false, false },
        { HEX "0.raw", false, false, false, false }, { "X" HEX ".raw", false, false, false, false },
        { "", false, false, false, false },          { ".raw", false, false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct digest d;
        char hex[DIGEST_HEX];
        const char *ending = pack_name_ending(cases[i].name, &d);

        assert_int_equal(ending != NULL, cases[i].has_ending);
        if (ending == NULL)
            continue;
        digest_hex(&d, hex);
        assert_string_equal(hex, HEX);
        assert_int_equal(pack_ending_is_of(ending, PACK_BLOCK), cases[i].is_block);
        assert_int_equal(pack_ending_is_of(ending, PACK_LIST), cases[i].is_list);
        assert_int_equal(pack_ending_is_part(ending), cases[i].is_part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_entries_come_back),
        cmocka_unit_test(an_empty_tree_and_a_tree_of_one_file_come_back),
        cmocka_unit_test(files_of_all_sizes_come_back),
        cmocka_unit_test(small_files_around_large_ones_share_parts),
        cmocka_unit_test(parts_hold_up_to_64_mib),
        cmocka_unit_test(what_is_there_already_is_not_stored_again),
        cmocka_unit_test(a_tree_has_one_digest_wherever_it_lies),
        cmocka_unit_test(a_file_that_was_not_read_again_is_the_same),
        cmocka_unit_test(ten_gib_of_nothing_cost_nothing),
        cmocka_unit_test(names_tell_what_a_file_is),
        cmocka_unit_test(a_file_that_stays_in_place_is_listed_and_not_copied),
        cmocka_unit_test(small_files_that_stay_are_listed_together),
        cmocka_unit_test(a_large_file_that_stays_need_not_be_read_again),
        cmocka_unit_test(more_files_of_one_content_than_a_list_takes_may_stay),
        cmocka_unit_test(
            a_sink_that_fails_ends_the_packing_and_what_was_stored_is_used_the_next_time),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(one_changed_file_in_a_hundred_costs_less_than_three_percent),
        cmocka_unit_test(a_new_folder_changes_the_blocks_around_it_only),
        cmocka_unit_test(what_is_out_of_order_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

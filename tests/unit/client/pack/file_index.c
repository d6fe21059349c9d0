/* SPDX-License-Identifier: MIT */
/* file_index.c - what is remembered of files and of packs, and what is not trusted */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/pack/file_index.h"
#include "client/pack/piece_index.h"
#include "client/util/cache_dir.h"
#include "client/util/dir_names.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct site {
    char *dir, *path;
};

static int begin(void **state)
{
    struct site *s = mem_alloc(sizeof *s);
    char dir[] = "/tmp/ludwig-index-XXXXXX";

    if (mkdtemp(dir) == NULL || setenv("XDG_CACHE_HOME", dir, 1) < 0)
        return -1;
    s->dir = mem_strdup(dir);
    s->path = cache_dir_path("index", "a tree");
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct site *s = *state;
    int result = io_remove_tree(s->dir, NULL);

    free(s->path);
    free(s->dir);
    free(s);
    return result;
}

static struct digest digest_named(const char *name)
{
    struct digest d;

    digest_of(name, strlen(name), &d);
    return d;
}

/* ---- the index ---- */

static struct stat stat_of(off_t size, time_t changed_s, ino_t inode)
{
    struct stat st = { .st_size = size, .st_ino = inode };

    st.st_mtime = changed_s - 100;
    st.st_ctime = changed_s;
    return st;
}

static const struct timespec noon = { .tv_sec = 1000000000 };

static void add(struct file_index_writer *w, const char *path, const struct stat *st)
{
    struct digest pieces[2] = { digest_named(path), digest_named("the same for all") };
    struct pack_added file = { pieces, st->st_size > PACK_PIECE_BYTES ? 2 : 1,
                               (uint64_t)st->st_size };

    file_index_add(w, path, st, &file, &noon);
}

static const char *const paths[] = { "a", "a/b", "a/b.c", "a.txt", "b", "z/\xff\n" };

static void write_index(const struct site *s)
{
    struct file_index_writer *w = file_index_create(s->path);

    assert_non_null(w);
    for (size_t i = 0; i < LENGTH(paths); i++)
        add(w, paths[i], &(struct stat){ .st_size = 1 + (off_t)i * 3000000, .st_ino = i });
    file_index_commit(w, NULL);
}

static bool finds(struct file_index_reader *r, const char *path, const struct stat *st)
{
    struct digest expected = digest_named(path);
    struct pack_added file;

    if (!file_index_find(r, path, st, &file))
        return false;
    assert_memory_equal(file.pieces, &expected, sizeof expected);
    assert_int_equal(file.size, st->st_size);
    assert_int_equal(file.n_pieces, st->st_size > PACK_PIECE_BYTES ? 2 : 1);
    return true;
}

static void files_are_found_in_order_whichever_are_asked_for(void **state)
{
    for (size_t which = 0; which < 1u << LENGTH(paths); which++) {
        struct site *s = *state;
        struct file_index_reader *r;

        if (which == 0)
            write_index(s);
        r = file_index_open(s->path);
        assert_non_null(r);
        assert_int_equal(file_index_count(r), LENGTH(paths));
        for (size_t i = 0; i < LENGTH(paths); i++)
            if (which >> i & 1)
                assert_true(finds(
                    r, paths[i], &(struct stat){ .st_size = 1 + (off_t)i * 3000000, .st_ino = i }));
        assert_false(finds(r, "zz", &(struct stat){ .st_size = 1 }));
        file_index_close(r);
    }
}

static void a_file_that_differs_in_anything_is_read(void **state)
{
    struct site *s = *state;
    struct stat st = stat_of(1000, 999999000, 7), changed[5];
    struct file_index_writer *w = file_index_create(s->path);

    add(w, "f", &st);
    file_index_commit(w, NULL);
    for (size_t i = 0; i < LENGTH(changed); i++)
        changed[i] = st;
    changed[0].st_size++;
    changed[1].st_ino++;
    changed[2].st_mtime++;
    changed[3].st_ctime++;
    changed[4].st_ctim.tv_nsec++;
    for (size_t i = 0; i < LENGTH(changed); i++) {
        struct file_index_reader *r = file_index_open(s->path);

        assert_false(finds(r, "f", &changed[i]));
        assert_true(finds(r, "f", &st));
        file_index_close(r);
    }
}

/* Some file systems keep them, and some programs set them. */
static void times_that_no_clock_says_are_told_apart_too(void **state)
{
    struct site *s = *state;
    struct stat st = stat_of(1000, 64000000000, 7), other = stat_of(1000, 64000000001, 7);
    struct file_index_writer *w;
    struct file_index_reader *r;

    st.st_ctime = other.st_ctime = 999999000;
    w = file_index_create(s->path);
    add(w, "f", &st);
    file_index_commit(w, NULL);
    r = file_index_open(s->path);
    assert_false(finds(r, "f", &other));
    assert_true(finds(r, "f", &st));
    file_index_close(r);
}

static void what_changed_just_before_it_was_read_is_read_again(void **state)
{
    struct site *s = *state;
    struct stat old = stat_of(5, noon.tv_sec - 3, 1), young = stat_of(5, noon.tv_sec - 1, 2);
    struct file_index_writer *w = file_index_create(s->path);
    struct file_index_reader *r;

    add(w, "old", &old);
    add(w, "young", &young);
    file_index_commit(w, NULL);
    r = file_index_open(s->path);
    assert_int_equal(file_index_count(r), 1);
    assert_true(finds(r, "old", &old));
    assert_false(finds(r, "young", &young));
    file_index_close(r);
}

static void what_a_walk_did_not_come_to_stays(void **state)
{
    struct site *s = *state;
    struct file_index_writer *w;
    struct file_index_reader *r;
    struct pack_added file;

    write_index(s);
    w = file_index_create(s->path);
    r = file_index_open(s->path);
    assert_false(file_index_find(r, "a/a", &(struct stat){ .st_size = 1 }, &file));
    add(w, "a/a", &(struct stat){ .st_size = 5, .st_ino = 99 });
    file_index_commit(w, r);
    file_index_close(r);
    r = file_index_open(s->path);
    assert_int_equal(file_index_count(r), LENGTH(paths));
    assert_true(finds(r, "a/a", &(struct stat){ .st_size = 5, .st_ino = 99 }));
    assert_true(finds(r, "a/b", &(struct stat){ .st_size = 3000001, .st_ino = 1 }));
    file_index_close(r);
}

static void a_damaged_index_is_none(void **state)
{
    struct site *s = *state;
    struct buf content = { 0 };

    write_index(s);
    assert_int_equal(io_read_file(s->path, 1 << 20, &content, NULL), 0);
    for (size_t i = 0; i < content.n; i++) {
        content.bytes[i] ^= 1;
        assert_int_equal(io_replace_file(s->path, content.bytes, content.n, 0600, NULL), 0);
        assert_null(file_index_open(s->path));
        content.bytes[i] ^= 1;
    }
    for (size_t n = 0; n < content.n; n += 7) {
        assert_int_equal(io_replace_file(s->path, content.bytes, n, 0600, NULL), 0);
        assert_null(file_index_open(s->path));
    }
    buf_free(&content);
}

static void without_a_place_there_is_no_index(void **state)
{
    struct site *s = *state;
    char *below = path_join(s->path, "x");

    assert_int_equal(io_make_dirs(s->dir, 0700, NULL), 0);
    write_index(s);
    assert_null(file_index_create(below));
    assert_null(file_index_open(below));
    file_index_commit(NULL, NULL);
    free(below);
}

/* ---- what is known of packs ---- */

static struct pack_list list_of(unsigned number, uint32_t first, uint32_t n)
{
    struct pack_list l = { .part = { .form = PACK_TAR, .stored_bytes = number }, .n = n };

    l.pieces = mem_alloc((n + 1) * sizeof *l.pieces);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t name = first + i;

        digest_of(&name, sizeof name, &l.pieces[i].digest);
        l.pieces[i].size = 10;
    }
    digest_of(&number, sizeof number, &l.part.list);
    return l;
}

static struct piece_index *learn(const struct site *s, struct piece_index *k, unsigned number,
                                 uint32_t first, uint32_t n)
{
    struct piece_index_update *u = piece_index_update_begin(s->path, k);
    struct pack_list l = list_of(number, first, n);
    struct piece_index_part *parts;
    size_t n_parts;

    piece_index_update_add(u, &l);
    free(l.pieces);
    k = piece_index_update_end(u);
    assert_non_null(k);
    parts = piece_index_parts(k, &n_parts);
    for (size_t i = 0; i < n_parts; i++)
        parts[i].is_there = parts[i].is_good = true;
    return k;
}

static bool is_found(struct piece_index *k, uint32_t name, bool all, unsigned *number,
                     uint32_t *entry)
{
    struct pack_place where;
    struct digest piece;

    digest_of(&name, sizeof name, &piece);
    if (!piece_index_find(k, &piece, all, &where))
        return false;
    *number = (unsigned)where.part->stored_bytes;
    *entry = where.entry;
    return true;
}

static void expect_found(struct piece_index *k, uint32_t name, unsigned number, uint32_t entry)
{
    unsigned found_number = 0;
    uint32_t found_entry = 0;

    assert_true(is_found(k, name, false, &found_number, &found_entry));
    assert_int_equal(found_number, number);
    assert_int_equal(found_entry, entry);
}

static void pieces_are_found_where_they_lie(void **state)
{
    struct site *s = *state;
    struct piece_index *k = piece_index_open(s->path);
    unsigned number;
    uint32_t entry;

    assert_false(is_found(k, 1, true, &number, &entry));
    k = learn(s, k, 1, 0, 60000);
    k = learn(s, k, 2, 100000, 50000);
    piece_index_close(k);
    k = piece_index_open(s->path);
    assert_false(is_found(k, 0, true, &number, &entry)); /* nothing is known to be there */
    k = learn(s, k, 3, 200000, 1);
    piece_index_close(k);
    k = piece_index_open(s->path);
    assert_false(is_found(k, 0, true, &number, &entry)); /* the others were not there any more */
    k = learn(s, k, 1, 0, 60000);
    k = learn(s, k, 2, 100000, 50000);
    for (uint32_t i = 0; i < 60000; i += 7)
        expect_found(k, i, 1, i);
    for (uint32_t i = 0; i < 50000; i += 7)
        expect_found(k, 100000 + i, 2, i);
    assert_false(is_found(k, 60000, true, &number, &entry));
    assert_false(is_found(k, 99999, true, &number, &entry));
    piece_index_close(k);
}

static void a_table_larger_than_memory_is_read_piece_by_piece(void **state)
{
    struct site *s = *state;
    struct piece_index *k = piece_index_open(s->path);

    for (unsigned i = 0; i < 6; i++)
        k = learn(s, k, i, i * 60000, 60000);
    for (uint32_t i = 0; i < 360000; i += 3001)
        expect_found(k, i, i / 60000, i % 60000);
    piece_index_close(k);
}

static void more_lists_than_memory_holds_are_learned_at_once(void **state)
{
    struct site *s = *state;
    struct piece_index_update *u = piece_index_update_begin(s->path, piece_index_open(s->path));
    struct piece_index *k;
    struct piece_index_part *parts;
    size_t n;

    for (unsigned i = 0; i < 11; i++) {
        struct pack_list l = list_of(i, i * 50000, 50000);

        piece_index_update_add(u, &l);
        free(l.pieces);
    }
    k = piece_index_update_end(u);
    assert_non_null(k);
    parts = piece_index_parts(k, &n);
    assert_int_equal(n, 11);
    for (size_t i = 0; i < n; i++)
        parts[i].is_good = true;
    for (uint32_t i = 0; i < 11 * 50000; i += 3001)
        expect_found(k, i, i / 50000, i % 50000);
    piece_index_close(k);
}

static void of_two_parts_that_is_named_of_which_more_is_wanted(void **state)
{
    struct site *s = *state;
    struct piece_index *k = learn(s, learn(s, piece_index_open(s->path), 1, 0, 100), 2, 90, 20);
    struct piece_index_part *parts;
    unsigned number;
    uint32_t entry;
    size_t n;

    for (uint32_t i = 90; i < 100; i++) {
        struct digest piece;

        digest_of(&i, sizeof i, &piece);
        assert_true(piece_index_want(k, &piece));
        assert_true(piece_index_want(k, &piece));
    }
    parts = piece_index_parts(k, &n);
    assert_int_equal(n, 2);
    assert_int_equal(parts[0].bytes, 1000);
    assert_int_equal(parts[0].wanted_bytes, 100);
    assert_int_equal(parts[1].wanted_bytes, 100);
    expect_found(k, 95, 2, 5);
    expect_found(k, 5, 1, 5);
    parts[0].is_good = false;
    assert_false(is_found(k, 5, false, &number, &entry));
    assert_true(is_found(k, 5, true, &number, &entry));
    parts[0].is_there = false;
    assert_false(is_found(k, 5, true, &number, &entry));
    piece_index_close(k);
}

/* ---- names ---- */

static void names_come_sorted_and_once_also_through_files(void **state)
{
    static const size_t run_bytes[] = { 0, 100, 1000 };

    (void)state;
    for (size_t r = 0; r < LENGTH(run_bytes); r++) {
        struct dir_names l = { .run_bytes = run_bytes[r] };
        char *before = mem_strdup("");
        const char *name;
        size_t n = 0;

        for (unsigned i = 0; i < 1000; i++) {
            char *text = mem_printf("\xff%u\n", i * 7919 % 500);

            assert_int_equal(dir_names_add(&l, text, NULL), 0);
            free(text);
        }
        assert_int_equal(dir_names_sort(&l, NULL), 0);
        assert_int_equal(l.n_runs > 0, run_bytes[r] > 0);
        for (; dir_names_next(&l, &name, NULL) == 1; n++) {
            assert_true(strcmp(before, name) < 0);
            free(before);
            before = mem_strdup(name);
        }
        assert_int_equal(n, 500);
        free(before);
        dir_names_free(&l);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_found_in_order_whichever_are_asked_for),
        TEST(a_file_that_differs_in_anything_is_read),
        TEST(times_that_no_clock_says_are_told_apart_too),
        TEST(what_changed_just_before_it_was_read_is_read_again),
        TEST(what_a_walk_did_not_come_to_stays),
        TEST(a_damaged_index_is_none),
        TEST(without_a_place_there_is_no_index),
        TEST(pieces_are_found_where_they_lie),
        TEST(a_table_larger_than_memory_is_read_piece_by_piece),
        TEST(more_lists_than_memory_holds_are_learned_at_once),
        TEST(of_two_parts_that_is_named_of_which_more_is_wanted),
        TEST(names_come_sorted_and_once_also_through_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

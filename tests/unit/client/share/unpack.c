/* SPDX-License-Identifier: MIT */
/* unpack.c - tests of trees that are made from their packs, also from such as lie */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "client/share/unpack.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "tests/unit/pack_store.h"

/* A drive with the packs of project p, and a folder to unpack in. */
struct site {
    char *top, *to;
    struct share_dir *drive;
    struct store store;
};

static void open_site(struct site *s)
{
    char name[] = "/tmp/unpack.XXXXXX";
    struct err e = { 0 };

    *s = (struct site){ .top = mem_strdup(mkdtemp(name)) };
    s->to = path_join(s->top, "to");
    s->drive = share_open_mount(s->top, &e);
    assert_non_null(s->drive);
}

static void close_site(struct site *s)
{
    share_close(s->drive);
    store_free(&s->store);
    assert_int_equal(io_remove_tree(s->top, NULL), 0);
    free(s->top);
    free(s->to);
}

/* Writes what the store has to the drive. */
static void publish(struct site *s)
{
    for (size_t i = 0; i < s->store.n; i++) {
        char *path = mem_printf("%s/p/.ludwig/packs/%s", s->top, s->store.items[i].path);
        char *folder = path_dirname(path);

        assert_int_equal(io_make_dirs(folder, 0755, NULL), 0);
        assert_int_equal(io_write_file_at(AT_FDCWD, path, s->store.items[i].bytes.bytes,
                                          s->store.items[i].bytes.n, 0644, NULL),
                         0);
        free(folder);
        free(path);
    }
}

static const char large_bytes[PACK_PIECE_BYTES + 5] = { [0] = 'a', [PACK_PIECE_BYTES] = 'b' };

static void add_file(struct pack_writer *w, const char *path, bool is_program, const char *content,
                     size_t n)
{
    struct pack_added added;
    int fd = file_of(content, n);

    assert_int_equal(pack_add_file(w, path, is_program, fd, &added, NULL), 0);
    close(fd);
}

/* Two files of the same content, a program, an empty one, one of two pieces, links. */
static struct pack_summary pack_tree_of_all(struct site *s)
{
    struct pack_sink sink = store_sink(&s->store);
    struct pack_writer *w = pack_writer_create(&sink);
    struct pack_summary summary;

    assert_int_equal(pack_add_folder(w, "a", NULL), 0);
    add_file(w, "a/b", true, "hello\n", 6);
    assert_int_equal(pack_add_hard_link(w, "a/c", "a/b", NULL), 0);
    assert_int_equal(pack_add_folder(w, "a/d", NULL), 0);
    add_file(w, "a.txt", false, "hello\n", 6);
    add_file(w, "empty", false, "", 0);
    add_file(w, "large", false, large_bytes, sizeof large_bytes);
    assert_int_equal(pack_add_symlink(w, "z", "../../outside", NULL), 0);
    assert_int_equal(pack_end(w, &summary, NULL), 0);
    pack_writer_destroy(w);
    publish(s);
    return summary;
}

static void content_is(const struct site *s, const char *name, const char *content, size_t n)
{
    char *path = path_join(s->to, name);
    struct buf text = { 0 };

    assert_int_equal(io_read_file(path, 1 << 24, &text, NULL), 0);
    assert_int_equal(text.n, n);
    if (n > 0)
        assert_memory_equal(text.bytes, content, n);
    buf_free(&text);
    free(path);
}

static struct stat stat_of(const struct site *s, const char *name)
{
    char *path = path_join(s->to, name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    free(path);
    return st;
}

static int unpack(struct site *s, const struct digest *id, struct err *e)
{
    struct pack_totals totals;

    *e = (struct err){ 0 };
    return unpack_tree(s->drive, "p", id, s->to, &totals, e);
}

static void a_tree_is_made_as_it_was(void **state)
{
    struct pack_summary summary;
    struct err e;
    struct site s;
    char *link;

    (void)state;
    open_site(&s);
    summary = pack_tree_of_all(&s);
    if (unpack(&s, &summary.id, &e) < 0)
        fail_msg("%s", e.text);
    content_is(&s, "a/b", "hello\n", 6);
    content_is(&s, "a.txt", "hello\n", 6);
    content_is(&s, "empty", "", 0);
    content_is(&s, "large", large_bytes, sizeof large_bytes);
    assert_true(stat_of(&s, "a/b").st_ino == stat_of(&s, "a/c").st_ino);
    assert_true((stat_of(&s, "a/b").st_mode & 0100) != 0);
    assert_true((stat_of(&s, "a.txt").st_mode & 0111) == 0);
    assert_true(S_ISDIR(stat_of(&s, "a/d").st_mode));
    link = io_read_link_at(AT_FDCWD, "z", NULL);
    assert_null(link);
    assert_true(S_ISLNK(stat_of(&s, "z").st_mode));
    /* What is there is not touched. */
    assert_int_equal(unpack(&s, &summary.id, &e), -1);
    assert_int_equal(e.kind, ERR_EXISTS);
    close_site(&s);
}

/* The first object whose path ends so. */
static struct stored *object(struct site *s, const char *ending)
{
    for (size_t i = 0; i < s->store.n; i++) {
        const char *path = s->store.items[i].path;

        if (strlen(path) > strlen(ending) &&
            strcmp(path + strlen(path) - strlen(ending), ending) == 0)
            return &s->store.items[i];
    }
    fail_msg("no %s", ending);
    return NULL;
}

static void what_is_damaged_or_gone_is_refused(void **state)
{
    static const char *const endings[] = { ".manifest", ".block", ".list", ".tar.zst", ".zst" };
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        for (int is_gone = 0; is_gone <= 1; is_gone++) {
            struct pack_summary summary;
            struct stored *x;
            struct site s;
            char *path;

            open_site(&s);
            summary = pack_tree_of_all(&s);
            x = object(&s, endings[i]);
            path = mem_printf("%s/p/.ludwig/packs/%s", s.top, x->path);
            if (is_gone)
                assert_int_equal(unlink(path), 0);
            x->bytes.bytes[x->bytes.n / 2] ^= 1;
            if (!is_gone)
                publish(&s);
            if (unpack(&s, &summary.id, &e) == 0)
                fail_msg("a damaged %s was taken", endings[i]);
            assert_int_equal(e.kind, is_gone ? ERR_NOT_FOUND : ERR_PROTOCOL);
            free(path);
            close_site(&s);
        }
}

/* The format allows a hard link to any path that came before: whether it is a file shows here. */
static void a_hard_link_to_a_symlink_is_refused(void **state)
{
    struct pack_summary summary;
    struct pack_writer *w;
    struct pack_sink sink;
    struct err e;
    struct site s;

    (void)state;
    open_site(&s);
    sink = store_sink(&s.store);
    w = pack_writer_create(&sink);
    assert_int_equal(pack_add_symlink(w, "a", "/etc/passwd", NULL), 0);
    if (pack_add_hard_link(w, "b", "a", NULL) == 0) {
        assert_int_equal(pack_end(w, &summary, NULL), 0);
        publish(&s);
        assert_int_equal(unpack(&s, &summary.id, &e), -1);
    }
    pack_writer_destroy(w);
    close_site(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_made_as_it_was),
        cmocka_unit_test(what_is_damaged_or_gone_is_refused),
        cmocka_unit_test(a_hard_link_to_a_symlink_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

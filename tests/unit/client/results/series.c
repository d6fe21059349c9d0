/* SPDX-License-Identifier: MIT */
/* series.c - tests of series, of files on the share, and of copies of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/results/series.h"
#include "client/share/download.h"
#include "client/share/share_connection.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/json.h"

/* ---- a share of each test's own ---- */

struct place {
    char *root;
    struct share_dir *fs;
};

static int set_up(void **state)
{
    const char *tmp = getenv("TMPDIR");
    struct place *p = mem_alloc(sizeof *p);
    struct err e = { 0 };

    p->root = mem_printf("%s/ludwig-series.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(p->root) == NULL)
        return -1;
    p->fs = share_connection_read(&(struct share_connection){ .mount = p->root }, &e);
    *state = p;
    return p->fs == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;

    share_close(p->fs);
    io_remove_tree(p->root, NULL);
    free(p->root);
    free(p);
    return 0;
}

static void put_bytes(const struct place *p, const char *name, const char *bytes, size_t n)
{
    char *path = path_join(p->root, name), *dir = path_dirname(path);
    struct err e = { 0 };

    if (io_make_dirs(dir, 0700, &e) < 0 || io_write_file_at(AT_FDCWD, path, bytes, n, 0600, &e) < 0)
        fail_msg("%s", e.text);
    free(dir);
    free(path);
}

static void put(const struct place *p, const char *name, const char *text)
{
    put_bytes(p, name, text, strlen(text));
}

static void get(const struct place *p, const char *name, struct buf *text)
{
    char *path = path_join(p->root, name);
    struct err e = { 0 };

    buf_clear(text);
    if (io_read_file(path, 1 << 24, text, &e) < 0)
        fail_msg("%s", e.text);
    free(path);
}

/* ---- series ---- */

/* "step=value ..." */
static int take(void *context, const struct series_point *point, struct err *e)
{
    struct buf *out = context;

    (void)e;
    buf_add_str(out, out->n > 0 ? " " : "");
    json_add_text(out, &point->step);
    buf_add_char(out, '=');
    json_add_text(out, &point->value);
    return 0;
}

static void assert_series(struct place *p, const char *metric, int found, const char *points)
{
    struct buf out = { 0 };
    struct err e = { 0 };

    assert_int_equal(series_read(p->fs, "runs/a", metric, take, &out, &e), found);
    assert_string_equal(buf_text(&out), points);
    buf_free(&out);
}

static void points_come_from_lines_of_json(void **state)
{
    struct place *p = *state;

    put(p, "runs/a/metrics.jsonl",
        "{\"accuracy\": 0.5, \"step\": 1, \"loss\": 2}\n"
        "{\"loss\": 3}\n"
        "\n"
        "no json\n"
        "[1, 2]\n"
        "{\"accuracy\": \"high\"}\n"
        "{\"accuracy\": 1, \"step\": 2}\r\n"
        "{\"accuracy\": NaN, \"step\": \"x\"}\n"
        "{\"accuracy\": 0.75, \"step\": 2.5}");
    assert_series(*state, "accuracy", 1, "1=0.5 2=1 null=NaN 2.5=0.75");
    assert_series(*state, "loss", 1, "1=2 null=3");
    assert_series(*state, "other", 0, "");
}

/* A job was tried again, and reported steps that it had reported before. */
static void a_later_point_replaces_one_of_the_same_step(void **state)
{
    struct place *p = *state;

    put(p, "runs/a/metrics.jsonl",
        "{\"m\": 1, \"step\": 1}\n{\"m\": 2, \"step\": 2}\n{\"m\": 3, \"step\": 3}\n"
        "{\"m\": 0}\n{\"m\": 20, \"step\": 2.0}\n");
    assert_series(p, "m", 1, "null=0 1=1 2.0=20 3=3");
    put(p, "runs/a/c.csv", ",0\n3,30\nx,1\n2,20\n3,31\n");
    assert_series(p, "c", 1, "x=1 2=20 3=31");
}

static void points_come_from_a_series_of_pandas_otherwise(void **state)
{
    struct place *p = *state;

    put(p, "runs/a/metrics.jsonl", "{\"loss\": 3}\n");
    put(p, "runs/a/accuracy.csv", ",0\n0,0.5\n1,1\r\n\"a,\"\"b\"\"\",2\n3,4,5\nx\n4,word\n5,inf\n");
    assert_series(p, "accuracy", 1, "0=0.5 1=1 a,\"b\"=2 5=Infinity");
    put(p, "runs/a/named.csv", "step,named\n10,1.5\n20,2.5");
    assert_series(p, "named", 1, "10=1.5 20=2.5");
    put(p, "runs/a/predictions.csv", "id,label\n1,7\n");
    assert_series(p, "predictions", 0, "");
    put(p, "runs/a/headless.csv", "1,1.5\n");
    assert_series(p, "headless", 1, "1=1.5");
    put(p, "runs/a/empty.csv", "");
    assert_series(p, "empty", 0, "");
    put(p, "runs/b.csv", "1,1.5\n");
    assert_series(p, "../b", 0, "");
}

static void long_lines_are_passed_over_and_no_other(void **state)
{
    struct place *p = *state;
    struct buf text = { 0 };

    buf_add_str(&text, "{\"m\": 1}\n");
    for (int i = 0; i < 600000; i++)
        buf_add_str(&text, "xx");
    buf_add_str(&text, ", \"m\": 7}\n{\"m\": 2}\n");
    for (int i = 0; i < 60000; i++)
        buf_add_char(&text, ' ');
    buf_add_str(&text, "{\"m\": 3}\n{\"m\": 4}");
    put_bytes(p, "runs/a/metrics.jsonl", buf_text(&text), text.n);
    assert_series(p, "m", 1, "null=1 null=2 null=3 null=4");
    buf_free(&text);
}

/* Wherever the pieces that are read end. */
static void every_line_of_a_long_file_is_read(void **state)
{
    enum { N = 30000 };
    struct place *p = *state;
    struct buf text = { 0 }, points = { 0 };

    for (int i = 0; i < N; i++)
        buf_printf(&text, "{\"m\": %d, \"step\": %d}\n", i * 7, i);
    put_bytes(p, "runs/a/metrics.jsonl", buf_text(&text), text.n);
    for (int i = 0; i < N; i++)
        buf_printf(&points, "%s%d=%d", i > 0 ? " " : "", i, i * 7);
    assert_series(p, "m", 1, buf_text(&points));
    buf_free(&text);
    buf_free(&points);
}

static void links_and_fifos_are_not_followed(void **state)
{
    struct place *p = *state;
    char *link = path_join(p->root, "runs/a/metrics.jsonl"),
         *fifo = path_join(p->root, "runs/a/m.csv");
    struct buf out = { 0 };
    struct err e = { 0 };

    put(p, "secret", "{\"m\": 1}\n");
    put(p, "runs/a/x", "");
    assert_int_equal(symlink("../../secret", link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(series_read(p->fs, "runs/a", "m", take, &out, &e), 0);
    assert_int_not_equal(e.kind, ERR_NONE);
    assert_int_equal(out.n, 0);
    free(link);
    free(fifo);
}

/* ---- the share ---- */

static void paths_stay_below_the_share(void **state)
{
    static const char *const outside[] = { "/etc/passwd", "../x", "a/../../x", "a//b" };
    struct place *p = *state;
    struct arena *a = arena_create();
    struct share_stat st;
    struct list entries;

    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        struct err e = { 0 };

        assert_null(share_open_input(p->fs, outside[i], 0, &e));
        assert_int_equal(e.kind, ERR_PROTOCOL);
        assert_int_equal(share_stat(p->fs, outside[i], &st, NULL), -1);
        assert_int_equal(share_list(p->fs, outside[i], SHARE_STATS, a, &entries, NULL), -1);
    }
    arena_destroy(a);
}

static void a_missing_share_says_where_it_could_be_named(void **state)
{
    struct place *p = *state;
    char *path = path_join(p->root, "nowhere");
    struct err e = { 0 };

    assert_null(share_connection_read(&(struct share_connection){ .mount = path }, &e));
    assert_non_null(strstr(e.text, "config.yaml"));
    free(path);
}

static void listings_are_sorted_and_tell_kinds(void **state)
{
    struct place *p = *state;
    struct arena *a = arena_create();
    const struct share_entry *items;
    struct list entries;
    struct err e = { 0 };
    char *link = path_join(p->root, "d/link"), *target;

    put(p, "d/b", "12345");
    put(p, "d/a/x", "");
    assert_int_equal(symlink("b", link), 0);
    assert_int_equal(share_list(p->fs, "d", SHARE_STATS, a, &entries, &e), 0);
    items = entries.items;
    assert_int_equal(entries.n, 3);
    assert_string_equal(items[0].name, "a");
    assert_int_equal(items[0].stat.type, SHARE_FOLDER);
    assert_string_equal(items[1].name, "b");
    assert_int_equal(items[1].stat.type, SHARE_FILE);
    assert_int_equal(items[1].stat.size_bytes, 5);
    assert_int_equal(items[2].stat.type, SHARE_LINK);
    target = share_read_link(p->fs, "d/link", &e);
    assert_string_equal(target, "b");
    free(target);
    assert_int_equal(share_list(p->fs, "nothing", SHARE_STATS, a, &entries, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    free(link);
    arena_destroy(a);
}

/* ---- copies ---- */

static struct download *open_copy(const struct place *p, char **to)
{
    struct err e = { 0 };
    struct download *c;

    *to = path_join(p->root, "to");
    c = download_open(p->fs, *to, &e);
    if (c == NULL)
        fail_msg("%s", e.text);
    return c;
}

static void a_copy_is_the_same_tree_and_is_made_once(void **state)
{
    struct place *p = *state;
    struct buf text = { 0 };
    struct err e = { 0 };
    struct stat from, st;
    struct download *c;
    char *to, *path = path_join(p->root, "demo/runs/p/link"),
              *script = path_join(p->root, "demo/runs/p/run.sh");

    put(p, "demo/runs/p/file", "content");
    put(p, "demo/runs/p/deep/er/file", "more");
    put(p, "demo/runs/p/run.sh", "#!/bin/sh");
    assert_int_equal(chmod(script, 0700), 0);
    assert_int_equal(symlink("nowhere/at/all", path), 0);
    c = open_copy(p, &to);
    assert_int_equal(download_path(c, "demo/runs/p", strlen("demo/"), &e), 1);
    assert_int_equal(download_counts(c)->copied, 4);
    assert_int_equal(download_counts(c)->bytes, strlen("content") + strlen("more") + 9);
    get(p, "to/runs/p/file", &text);
    assert_string_equal(buf_text(&text), "content");
    get(p, "to/runs/p/deep/er/file", &text);
    assert_string_equal(buf_text(&text), "more");
    free(path);
    path = path_join(p->root, "to/runs/p/run.sh");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(stat(script, &from), 0);
    assert_true((st.st_mode & S_IXUSR) != 0);
    assert_int_equal(st.st_mtime, from.st_mtime);
    assert_int_equal(download_path(c, "demo/runs/p", strlen("demo/"), &e), 1);
    assert_int_equal(download_counts(c)->copied, 4);
    assert_int_equal(download_counts(c)->there, 4);
    assert_int_equal(download_path(c, "demo/runs/none", strlen("demo/"), &e), 0);
    download_close(c);
    buf_free(&text);
    free(script);
    free(path);
    free(to);
}

static void what_has_changed_is_copied_again(void **state)
{
    struct place *p = *state;
    struct buf text = { 0 };
    struct err e = { 0 };
    struct download *c;
    char *to;

    put(p, "demo/log", "first");
    c = open_copy(p, &to);
    assert_int_equal(download_path(c, "demo/log", 5, &e), 1);
    put(p, "demo/log", "first and second");
    assert_int_equal(download_path(c, "demo/log", 5, &e), 1);
    assert_int_equal(download_counts(c)->copied, 2);
    get(p, "to/log", &text);
    assert_string_equal(buf_text(&text), "first and second");
    download_close(c);
    buf_free(&text);
    free(to);
}

/* What an earlier fetch copied may now be where a link leads out of the folder. */
static void links_at_the_target_are_not_followed(void **state)
{
    struct place *p = *state;
    struct buf text = { 0 };
    struct err e = { 0 };
    struct download *c;
    char *to, *link;

    put(p, "victim/file", "precious");
    put(p, "demo/x/file", "evil");
    c = open_copy(p, &to);
    link = path_join(to, "x");
    assert_int_equal(symlink("../victim", link), 0);
    assert_int_equal(download_path(c, "demo/x", 5, &e), -1);
    get(p, "victim/file", &text);
    assert_string_equal(buf_text(&text), "precious");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(mkdir(link, 0700), 0);
    free(link);
    link = path_join(to, "x/file");
    assert_int_equal(symlink("../../victim/file", link), 0);
    assert_int_equal(download_path(c, "demo/x", 5, &e), 1);
    get(p, "victim/file", &text);
    assert_string_equal(buf_text(&text), "precious");
    get(p, "to/x/file", &text);
    assert_string_equal(buf_text(&text), "evil");
    download_close(c);
    buf_free(&text);
    free(link);
    free(to);
}

static void what_an_interrupted_copy_left_is_replaced(void **state)
{
    struct place *p = *state;
    struct err e = { 0 };
    struct download *c;
    char *to, *part;

    put(p, "demo/file", "whole");
    put(p, "to/.ludwig-fetch.0123456789abcdef0123456789abcdef.part", "hal");
    c = open_copy(p, &to);
    assert_int_equal(download_path(c, "demo/file", 5, &e), 1);
    part = path_join(to, ".ludwig-fetch.0123456789abcdef0123456789abcdef.part");
    assert_int_equal(access(part, F_OK), -1);
    download_close(c);
    free(part);
    free(to);
}

static void a_saved_file_may_have_any_name(void **state)
{
    struct place *p = *state;
    struct err e = { 0 };
    struct buf text = { 0 };
    struct download *c;
    char *to;

    put(p, "demo/x/.ludwig-fetch.part", "saved");
    put(p, "demo/x/other", "too");
    c = open_copy(p, &to);
    assert_int_equal(download_path(c, "demo/x", 5, &e), 1);
    assert_int_equal(download_counts(c)->copied, 2);
    get(p, "to/x/.ludwig-fetch.part", &text);
    assert_string_equal(buf_text(&text), "saved");
    download_close(c);
    buf_free(&text);
    free(to);
}

static void count_unread(void *context, const struct err *why)
{
    *(int *)context += strstr(why->text, "folders deep") != NULL;
}

static void what_cannot_be_read_is_told_and_the_rest_is_copied(void **state)
{
    struct place *p = *state;
    struct buf deep = { 0 };
    struct err e = { 0 };
    struct download *c;
    char *to;
    int n_unread = 0;

    buf_add_str(&deep, "demo/x/a");
    for (int i = 0; i < 250; i++)
        buf_add_str(&deep, "/d");
    buf_add_str(&deep, "/file");
    put(p, buf_text(&deep), "too deep");
    put(p, "demo/x/a/file", "one");
    put(p, "demo/x/z", "two");
    c = open_copy(p, &to);
    download_watch(c, NULL, count_unread, &n_unread);
    assert_int_equal(download_path(c, "demo/x", 5, &e), 1);
    assert_int_equal(n_unread, 1);
    assert_int_equal(download_counts(c)->unread, 1);
    assert_int_equal(download_counts(c)->copied, 2);
    download_close(c);
    buf_free(&deep);
    free(to);
}

static void two_copies_into_one_folder_are_one_too_many(void **state)
{
    struct place *p = *state;
    struct err e = { 0 };
    struct download *c;
    char *to;

    c = open_copy(p, &to);
    assert_null(download_open(p->fs, to, &e));
    assert_int_equal(e.kind, ERR_BUSY);
    download_close(c);
    c = download_open(p->fs, to, &e);
    assert_non_null(c);
    download_close(c);
    free(to);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(points_come_from_lines_of_json),
        TEST(a_later_point_replaces_one_of_the_same_step),
        TEST(points_come_from_a_series_of_pandas_otherwise),
        TEST(long_lines_are_passed_over_and_no_other),
        TEST(every_line_of_a_long_file_is_read),
        TEST(links_and_fifos_are_not_followed),
        TEST(paths_stay_below_the_share),
        TEST(a_missing_share_says_where_it_could_be_named),
        TEST(listings_are_sorted_and_tell_kinds),
        TEST(a_copy_is_the_same_tree_and_is_made_once),
        TEST(what_has_changed_is_copied_again),
        TEST(links_at_the_target_are_not_followed),
        TEST(what_an_interrupted_copy_left_is_replaced),
        TEST(a_saved_file_may_have_any_name),
        TEST(what_cannot_be_read_is_told_and_the_rest_is_copied),
        TEST(two_copies_into_one_folder_are_one_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

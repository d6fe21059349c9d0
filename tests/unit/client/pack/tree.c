/* SPDX-License-Identifier: MIT */
/* tree.c - tests of what a sweep takes along, and how it gets to the share */
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
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "tests/unit/folder.h"

static struct tree all_of(const char *dir)
{
    return (struct tree){ .plan = { .top = dir, .everything = true } };
}

static struct digest digest_of_dir(const char *dir)
{
    struct pack_inventory *nothing = pack_inventory_open(NULL, NULL);
    struct tree t = all_of(dir);
    struct err e = { 0 };

    if (tree_look(&t, nothing, &e) < 0)
        fail_msg("%s", e.text);
    pack_inventory_close(nothing);
    return t.set.tree;
}

static void expect_digests(const struct digest *x, const struct digest *y, bool same)
{
    assert_int_equal(memcmp(x, y, sizeof *x) == 0, same);
}

static void a_tree_lists_everything_by_path(void **state)
{
    char *dir = *state, *run = below(dir, "b/run.sh"), *link = below(dir, "link");
    struct tree t = all_of(dir);

    put(dir, "b/run.sh", "#!/bin/sh\n");
    put(dir, "b.txt", "12345");
    put(dir, "a/empty/", NULL);
    put(dir, ".hidden", "");
    assert_int_equal(chmod(run, 0755), 0);
    assert_int_equal(symlink("b/run.sh", link), 0);
    assert_int_equal(tree_count(&t, NULL, NULL), 0);
    assert_int_equal(tree_count_files(&t), 4);
    assert_int_equal(t.totals.folders, 3);
    assert_int_equal(t.totals.bytes, 5 + 10);
    expect_list(&t.plan, "f .hidden, d a, d a/empty, d b, x b/run.sh, f b.txt, l link");
    free(link);
    free(run);
}

static void the_digest_changes_with_what_matters_only(void **state)
{
    char *dir = *state, *file = below(dir, "f"), *other = below(dir, "g");
    struct digest first, now;

    put(dir, "f", "one");
    first = digest_of_dir(dir);
    put(dir, "f", "one"); /* another inode and another time */
    now = digest_of_dir(dir);
    expect_digests(&first, &now, true);
    assert_int_equal(chmod(file, 0600), 0);
    now = digest_of_dir(dir);
    expect_digests(&first, &now, true);
    assert_int_equal(chmod(file, 0744), 0);
    now = digest_of_dir(dir);
    expect_digests(&first, &now, false);
    put(dir, "f", "two");
    now = digest_of_dir(dir);
    expect_digests(&first, &now, false);
    put(dir, "f", "one");
    assert_int_equal(rename(file, other), 0);
    now = digest_of_dir(dir);
    expect_digests(&first, &now, false);
    assert_int_equal(rename(other, file), 0);
    put(dir, "empty/", NULL);
    now = digest_of_dir(dir);
    expect_digests(&first, &now, false);
    free(other);
    free(file);
}

static void what_cannot_be_sent_is_named(void **state)
{
    char *dir = *state, *path = below(dir, "a/pipe");
    struct err e = { 0 };
    struct tree t = all_of(dir);

    put(dir, "a/", NULL);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tree_count(&t, NULL, &e), -1);
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "/a/pipe is a pipe and cannot be sent"));
    free(path);
}

/* Between the look at the folder and its opening. */
static bool put_link_in_its_place(void *context, const char *from, const char *path, bool is_folder)
{
    (void)path;
    if (is_folder && rmdir(from) == 0)
        assert_int_equal(symlink(context, from), 0);
    return false;
}

static void no_link_is_followed_that_somebody_put_in_a_folders_place(void **state)
{
    char *tree = below(*state, "tree"), *other = below(*state, "other");
    struct walk_plan plan = { .top = tree, .everything = true };
    struct walk_entry entry;
    struct err e = { 0 };
    struct walk *w;

    put(tree, "folder/", "");
    put(other, "private", "");
    plan.leaves_out = put_link_in_its_place;
    plan.context = other;
    w = walk_begin(&plan, &e);
    assert_non_null(w);
    assert_int_equal(walk_next(w, &entry, &e), -1);
    assert_non_null(strstr(e.text, "/tree/folder was changed while it was read"));
    walk_end(w);
    free(tree);
    free(other);
}

static void what_is_not_there_is_named(void **state)
{
    char *path = below(*state, "nope");
    struct err e = { 0 };
    struct tree t = all_of(path);

    assert_int_equal(tree_count(&t, NULL, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, path));
    free(path);
}

/* ---- what a sweep takes along ---- */

static struct spec read_spec(const char *dir, const char *yaml, struct arena *a)
{
    const char *file = arena_printf(a, "%s/sweep.yaml", dir); /* the spec keeps it */
    struct err e = { 0 };
    struct spec s;

    put(dir, "sweep.yaml", yaml);
    if (spec_read(file, a, &s, &e) < 0)
        fail_msg("%s", e.text);
    return s;
}

static void load(struct inputs *c, const char *dir, const char *yaml)
{
    struct arena *a = arena_create();
    struct spec s = read_spec(dir, yaml, a);
    struct err e = { 0 };

    inputs_plan(c, &s, NULL);
    if (inputs_count(c, &e) == NULL)
        fail_msg("%s", e.text);
    arena_destroy(a);
}

static void expect_source(const char *dir, const char *yaml, const char *expected)
{
    struct inputs c;

    load(&c, dir, yaml);
    expect_list(&c.source.plan, expected);
    inputs_free(&c);
}

#define HEAD "project: p\ncommand: x\n"

static void without_source_everything_but_the_ignored_goes_along(void **state)
{
    const char *dir = *state;

    put(dir, "train.py", "");
    put(dir, "lm/a.py", "");
    put(dir, "lm/__pycache__/a.pyc", "");
    put(dir, "lm/.gitignore", "*.log\n");
    put(dir, "lm/x.log", "");
    put(dir, "out/big", "");
    put(dir, "data.csv", "");
    put(dir, ".gitignore", "/out/\n");
    expect_source(dir, HEAD "data: data.csv\n", "d lm, f lm/a.py, f train.py");
    expect_source(dir, HEAD "source: .\n", "f data.csv, d lm, f lm/a.py, f train.py");
    put(dir, ".ludwigignore", "lm\n");
    expect_source(dir, HEAD, "f data.csv, d out, f out/big, f train.py");
}

static void only_what_source_names_goes_along(void **state)
{
    const char *dir = *state;

    put(dir, "train.py", "");
    put(dir, "other.py", "");
    put(dir, "lib/deep/x.py", "");
    put(dir, "lib/deep/y.pyc", "");
    put(dir, "lib/z.py", "");
    put(dir, "gen/t.txt", "");
    put(dir, ".gitignore", "*.pyc\ngen/\n");
    expect_source(dir, HEAD "source: train.py\n", "f train.py");
    expect_source(dir, HEAD "source: [lib/deep/, train.py]\n",
                  "d lib, d lib/deep, f lib/deep/x.py, f train.py");
    expect_source(dir, HEAD "source: [lib, lib/z.py, ./lib]\n",
                  "d lib, d lib/deep, f lib/deep/x.py, f lib/z.py");
    expect_source(dir, HEAD "source: gen\n", "d gen, f gen/t.txt");
    expect_source(dir, HEAD "source: lib/deep/y.pyc\n", "d lib, d lib/deep, f lib/deep/y.pyc");
    expect_source(dir, HEAD "source: []\n", "");
}

static void the_share_is_never_taken_along(void **state)
{
    struct arena *a = arena_create();
    char *share = below(*state, "results");
    struct share_connection drive = { .mount = share };
    struct place to = { .drive = &drive, .project = "p" };
    struct spec s = read_spec(*state, HEAD, a);
    struct inputs c;

    put(*state, "results/p/runs/x", "");
    put(*state, "a.py", "");
    inputs_plan(&c, &s, &to);
    assert_non_null(inputs_count(&c, NULL));
    expect_list(&c.source.plan, "f a.py");
    inputs_free(&c);
    free(share);
    arena_destroy(a);
}

static void a_changed_sweep_file_does_not_change_the_source(void **state)
{
    struct inputs first, second;

    put(*state, "a.py", "x");
    load(&first, *state, HEAD);
    assert_non_null(inputs_look(inputs_count(&first, NULL), NULL));
    load(&second, *state, HEAD "reps: 2\n");
    assert_non_null(inputs_look(inputs_count(&second, NULL), NULL));
    expect_digests(&first.source.set.tree, &second.source.set.tree, true);
    inputs_free(&first);
    inputs_free(&second);
}

static void data_are_a_file_or_what_is_in_a_folder(void **state)
{
    struct inputs c;

    put(*state, "corpora/b/x.txt", "xx");
    put(*state, "corpora/__pycache__/y", "y");
    put(*state, "one.csv", "12345");
    load(&c, *state, HEAD "data: [corpora, one.csv]\n");
    assert_int_equal(c.n_data, 2);
    expect_list(&c.data[0].plan, "d __pycache__, f __pycache__/y, d b, f b/x.txt");
    expect_list(&c.data[1].plan, "f ");
    assert_int_equal(c.data[1].totals.bytes, 5);
    inputs_free(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_lists_everything_by_path),
        TEST(the_digest_changes_with_what_matters_only),
        TEST(what_cannot_be_sent_is_named),
        TEST(no_link_is_followed_that_somebody_put_in_a_folders_place),
        TEST(what_is_not_there_is_named),
        TEST(without_source_everything_but_the_ignored_goes_along),
        TEST(only_what_source_names_goes_along),
        TEST(the_share_is_never_taken_along),
        TEST(a_changed_sweep_file_does_not_change_the_source),
        TEST(data_are_a_file_or_what_is_in_a_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

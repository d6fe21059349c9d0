/* SPDX-License-Identifier: MIT */
/* client_tree.c - tests of what a sweep takes along, and how it gets to the share */
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

#include "client/cargo.h"
#include "client/ignore.h"
#include "client/tree.h"
#include "client/upload.h"
#include "common/io.h"
#include "common/layout.h"
#include "common/path.h"

static int make_dir(void **state)
{
    char dir[] = "/tmp/ludwig-tree-XXXXXX";

    if (mkdtemp(dir) == NULL)
        return -1;
    *state = mem_strdup(dir);
    return 0;
}

static int drop_dir(void **state)
{
    int result = io_remove_tree(*state, NULL);

    free(*state);
    return result;
}

/* Makes dir/path with the folders above it; a path that ends in / is a folder. */
static void put(const char *dir, const char *path, const char *text)
{
    char *full = path_join(dir, path), *above = path_dirname(full);

    assert_int_equal(io_make_dirs(above, 0755, NULL), 0);
    if (path[strlen(path) - 1] == '/')
        assert_int_equal(io_make_dirs(full, 0755, NULL), 0);
    else
        assert_int_equal(io_replace_file(full, text, strlen(text), 0644, NULL), 0);
    free(above);
    free(full);
}

static char *below(const char *dir, const char *path)
{
    return path_join(dir, path);
}

/* "d a, f a/b, ..." */
static char *list(const struct tree *t)
{
    struct buf text = { 0 };

    for (size_t i = 0; i < t->n; i++)
        buf_printf(&text, "%s%c %s", i > 0 ? ", " : "", t->entries[i].type, t->entries[i].path);
    return text.n > 0 ? buf_take(&text) : mem_strdup("");
}

static void expect_tree(struct tree *t, const char *expected)
{
    char *found = list(t);

    assert_string_equal(found, expected);
    free(found);
    tree_free(t);
}

static struct digest digest_of_dir(const char *dir)
{
    struct digest d;
    struct tree t;

    tree_init(&t);
    assert_int_equal(tree_add(&t, dir, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    d = t.digest;
    tree_free(&t);
    return d;
}

static void expect_digests(const struct digest *x, const struct digest *y, bool same)
{
    assert_int_equal(memcmp(x, y, sizeof *x) == 0, same);
}

static void a_tree_lists_everything_by_path(void **state)
{
    char *dir = *state, *run = below(dir, "b/run.sh"), *link = below(dir, "link");
    struct tree t;

    put(dir, "b/run.sh", "#!/bin/sh\n");
    put(dir, "b.txt", "12345");
    put(dir, "a/empty/", NULL);
    put(dir, ".hidden", "");
    assert_int_equal(chmod(run, 0755), 0);
    assert_int_equal(symlink("b/run.sh", link), 0);
    tree_init(&t);
    assert_int_equal(tree_add(&t, dir, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    assert_int_equal(t.n_files, 4);
    assert_int_equal(t.bytes, 5 + 10 + 8);
    expect_tree(&t, "f .hidden, d a, d a/empty, d b, f b.txt, x b/run.sh, l link");
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

static void the_digest_is_the_one_that_was_written_down(void **state)
{
    char *dir = *state;
    char hex[DIGEST_HEX];
    struct digest d;

    put(dir, "d/f", "x");
    d = digest_of_dir(dir);
    digest_hex(&d, hex);
    assert_string_equal(hex, "b0ee5533d445e15a31ee8f4c8d970e59adeb2fbb53aa15c566c2e11bb92b915a");
}

static void what_cannot_be_sent_is_named(void **state)
{
    char *dir = *state, *path = below(dir, "a/pipe");
    struct err e = { 0 };
    struct tree t;

    put(dir, "a/", NULL);
    assert_int_equal(mkfifo(path, 0600), 0);
    tree_init(&t);
    assert_int_equal(tree_add(&t, dir, "", NULL, &e), -1);
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "/a/pipe is a pipe and cannot be sent"));
    tree_free(&t);
    free(path);
}

static void what_is_not_there_is_named(void **state)
{
    char *path = below(*state, "nope");
    struct err e = { 0 };
    struct tree t;

    tree_init(&t);
    assert_int_equal(tree_add(&t, path, "", NULL, &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, path));
    tree_free(&t);
    free(path);
}

/* ---- ignoring ---- */

static void patterns_mean_what_they_mean_to_git(void **state)
{
    static const struct {
        const char *rules;
        const char *path;
        bool is_dir, ignored;
    } cases[] = {
        { "*.o", "a.o", false, true },         { "*.o", "x/y/a.o", false, true },
        { "*.o", "a.obj", false, false },      { "/a", "a", false, true },
        { "/a", "x/a", false, false },         { "x/a", "x/a", false, true },
        { "x/a", "y/x/a", false, false },      { "build/", "build", true, true },
        { "build/", "build", false, false },   { "build/", "x/build", true, true },
        { "/build/", "x/build", true, false }, { "a/**/b", "a/b", false, true },
        { "a/**/b", "a/x/y/b", false, true },  { "a/**/b", "x/a/b", false, false },
        { "**/b", "x/y/b", false, true },      { "a/**", "a/x/y", false, true },
        { "a/**", "a", true, false },          { "a/*", "a/x", false, true },
        { "a?c", "abc", false, true },         { "a[bc]d", "acd", false, true },
        { "*\n!keep", "keep", false, false },  { "*\n!keep", "drop", false, true },
        { "!keep\n*", "keep", false, true },   { "# a comment\n\nx", "# a comment", false, false },
        { "\\#x", "#x", false, true },         { "\\!x", "!x", false, true },
        { "x   ", "x", false, true },          { "x\\ ", "x ", false, true },
        { "x\r\ny\r\n", "y", false, true },    { "/", "x", false, false },
        { "", "__pycache__", true, true },     { "", ".git", true, true },
        { "", "a/.git", false, true },         { "!__pycache__/", "__pycache__", true, false },
        { "", "x.swp", false, true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = below(*state, cases[i].path);
        struct ignore *ig;
        size_t mark;

        put(*state, ".ludwigignore", cases[i].rules);
        ig = ignore_create(*state, true, NULL);
        assert_non_null(ig);
        assert_int_equal(ignore_enter(ig, *state, &mark, NULL), 0);
        if (ignore_matches(ig, path, cases[i].is_dir) != cases[i].ignored)
            fail_msg("'%s' and %s", cases[i].rules, cases[i].path);
        ignore_destroy(ig);
        free(path);
    }
}

/* ---- what a sweep takes along ---- */

static struct cargo load(const char *dir, const char *yaml)
{
    struct arena *a = arena_create();
    char *file = below(dir, "sweep.yaml");
    struct err e = { 0 };
    struct cargo c = { 0 };
    struct spec s;

    put(dir, "sweep.yaml", yaml);
    if (spec_read(file, a, &s, &e) < 0 || cargo_load(&c, &s, NULL, true, &e) < 0)
        fail_msg("%s", e.text);
    free(file);
    arena_destroy(a);
    return c;
}

static void expect_source(const char *dir, const char *yaml, const char *expected)
{
    struct cargo c = load(dir, yaml);
    char *found = list(&c.source);

    assert_string_equal(found, expected);
    free(found);
    cargo_free(&c);
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

static void rules_of_the_repository_above_hold_too(void **state)
{
    char *inner = below(*state, "repo/experiments/one");

    put(*state, ".gitignore", "*\n");
    put(*state, "repo/.git/HEAD", "");
    put(*state, "repo/.gitignore", "*.tmp\n/experiments/one/secret\n");
    put(inner, "a.py", "");
    put(inner, "b.tmp", "");
    put(inner, "secret", "");
    expect_source(inner, HEAD, "f a.py");
    free(inner);
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
    char *share = below(*state, "results"), *file = below(*state, "s.yaml"), *found;
    struct cargo c;
    struct spec s;

    put(*state, "results/p/runs/x", "");
    put(*state, "a.py", "");
    put(*state, "s.yaml", HEAD);
    assert_int_equal(spec_read(file, a, &s, NULL), 0);
    assert_int_equal(cargo_load(&c, &s, share, false, NULL), 0);
    found = list(&c.source);
    assert_string_equal(found, "f a.py");
    free(found);
    cargo_free(&c);
    free(file);
    free(share);
    arena_destroy(a);
}

static void a_changed_sweep_file_does_not_change_the_source(void **state)
{
    struct cargo first, second;

    put(*state, "a.py", "x");
    first = load(*state, HEAD);
    second = load(*state, HEAD "reps: 2\n");
    expect_digests(&first.source.digest, &second.source.digest, true);
    cargo_free(&first);
    cargo_free(&second);
}

static void data_are_a_file_or_what_is_in_a_folder(void **state)
{
    struct cargo c;
    char *found;

    put(*state, "corpora/b/x.txt", "xx");
    put(*state, "corpora/__pycache__/y", "y");
    put(*state, "one.csv", "12345");
    c = load(*state, HEAD "data: [corpora, one.csv]\n");
    assert_int_equal(c.n_data, 2);
    found = list(&c.data[0]);
    assert_string_equal(found, "d __pycache__, f __pycache__/y, d b, f b/x.txt");
    free(found);
    found = list(&c.data[1]);
    assert_string_equal(found, "f ");
    free(found);
    assert_int_equal(c.data[1].bytes, 5);
    cargo_free(&c);
}

/* ---- uploading ---- */

/* The path of the pack on the share; the caller frees it. */
static char *pack_path(const char *share, const struct tree *t)
{
    struct buf path = { 0 };

    buf_printf(&path, "%s/", share);
    layout_pack(&path, "p", &t->digest);
    return buf_take(&path);
}

static size_t count_entries(const char *dir)
{
    struct tree t;
    size_t n;

    tree_init(&t);
    assert_int_equal(tree_add(&t, dir, "", NULL, NULL), 0);
    n = t.n;
    tree_free(&t);
    return n;
}

static void an_uploaded_tree_is_the_same_tree(void **state)
{
    char *from = below(*state, "from"), *share = below(*state, "share"), *pack, *link, *run;
    struct place to = { &(struct drive){ .mount = share }, "p" };
    struct digest there;
    struct tree t;

    put(*state, "share/p/", NULL);
    put(from, "a/b/run.sh", "#!/bin/sh\n");
    put(from, "c.txt", "text");
    put(from, "empty/", NULL);
    run = below(from, "a/b/run.sh");
    link = below(from, "link");
    assert_int_equal(chmod(run, 0755), 0);
    assert_int_equal(symlink("c.txt", link), 0);
    tree_init(&t);
    assert_int_equal(tree_add(&t, from, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    assert_int_equal(upload_tree(&to, &t, NULL, NULL), 0);
    assert_int_equal(upload_tree(&to, &t, NULL, NULL), 0);
    pack = pack_path(share, &t);
    there = digest_of_dir(pack);
    expect_digests(&there, &t.digest, true);
    /* p, .ludwig, packs, the pack, and what is in it */
    assert_int_equal(count_entries(share), 4 + t.n);
    tree_free(&t);
    free(pack);
    free(link);
    free(run);
    free(share);
    free(from);
}

static void nothing_is_uploaded_where_no_project_is(void **state)
{
    char *from = below(*state, "one.csv"), *share = below(*state, "share");
    struct place to = { &(struct drive){ .mount = share }, "p" };
    struct err e = { 0 };
    struct tree t;

    put(*state, "share/", NULL);
    put(*state, "one.csv", "1,2,3\n");
    tree_init(&t);
    assert_int_equal(tree_add(&t, from, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    assert_int_equal(upload_tree(&to, &t, NULL, &e), -1);
    assert_non_null(strstr(e.text, "the project's folder on the share"));
    assert_int_equal(count_entries(share), 0);
    tree_free(&t);
    free(share);
    free(from);
}

static void a_project_is_made_as_ordered(void **state)
{
    char *share = below(*state, "share"), *project = below(*state, "share/p");
    struct folder_order order = { 02770, (int64_t)getegid() };
    struct place to = { &(struct drive){ .mount = share }, "p" };
    struct stat st;

    put(*state, "share/", NULL);
    assert_int_equal(upload_make_project(&to, &order, NULL), 0);
    assert_int_equal(upload_make_project(&to, &order, NULL), 0);
    assert_int_equal(lstat(project, &st), 0);
    assert_int_equal(st.st_mode & 07777, 02770);
    assert_int_equal(rmdir(project), 0);
    assert_int_equal(symlink(share, project), 0);
    assert_int_equal(upload_make_project(&to, &order, NULL), -1);
    free(project);
    free(share);
}

static void many_files_arrive_too(void **state)
{
    char *from = below(*state, "from"), *share = below(*state, "share"), *pack;
    struct place to = { &(struct drive){ .mount = share }, "p" };
    struct digest there;
    struct tree t;

    put(*state, "share/p/", NULL);
    for (int i = 0; i < 150; i++) {
        char *name = mem_printf("d%d/f%d", i % 7, i);

        put(from, name, name);
        free(name);
    }
    tree_init(&t);
    assert_int_equal(tree_add(&t, from, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    assert_int_equal(upload_tree(&to, &t, NULL, NULL), 0);
    pack = pack_path(share, &t);
    there = digest_of_dir(pack);
    expect_digests(&there, &t.digest, true);
    tree_free(&t);
    free(pack);
    free(share);
    free(from);
}

static void a_single_file_is_uploaded_as_a_file(void **state)
{
    char *from = below(*state, "one.csv"), *share = below(*state, "share"), *pack;
    struct place to = { &(struct drive){ .mount = share }, "p" };
    struct buf text = { 0 };
    struct tree t;

    put(*state, "share/p/", NULL);
    put(*state, "one.csv", "1,2,3\n");
    tree_init(&t);
    assert_int_equal(tree_add(&t, from, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    assert_int_equal(upload_tree(&to, &t, NULL, NULL), 0);
    pack = pack_path(share, &t);
    assert_int_equal(io_read_file(pack, 100, &text, NULL), 0);
    assert_string_equal(buf_text(&text), "1,2,3\n");
    buf_free(&text);
    tree_free(&t);
    free(pack);
    free(share);
    free(from);
}

static void a_file_that_changed_meanwhile_leaves_nothing_behind(void **state)
{
    char *from = below(*state, "from"), *share = below(*state, "share"), *packs;
    struct place to = { &(struct drive){ .mount = share }, "p" };
    struct err e = { 0 };
    struct tree t;

    put(*state, "share/p/", NULL);
    put(from, "a", "same");
    put(from, "b", "old!");
    tree_init(&t);
    assert_int_equal(tree_add(&t, from, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    put(from, "b", "new!");
    assert_int_equal(upload_tree(&to, &t, NULL, &e), -1);
    assert_non_null(strstr(e.text, "from/b was changed while it was sent; submit again"));
    packs = below(share, "p/.ludwig/packs");
    assert_int_equal(count_entries(packs), 0);
    tree_free(&t);
    free(packs);
    free(share);
    free(from);
}

static void a_share_that_is_not_there_is_never_made(void **state)
{
    char *share = below(*state, "not-mounted");
    struct place to = { &(struct drive){ .mount = share }, "p" };
    struct err e = { 0 };
    struct tree t;

    put(*state, "f", "x");
    tree_init(&t);
    assert_int_equal(tree_add(&t, *state, "", NULL, NULL), 0);
    assert_int_equal(tree_end(&t, true, NULL), 0);
    assert_int_equal(upload_tree(&to, &t, NULL, &e), -1);
    assert_non_null(strstr(e.text, "the shared drive is not here"));
    assert_int_equal(access(share, F_OK), -1);
    tree_free(&t);
    free(share);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_lists_everything_by_path),
        TEST(the_digest_changes_with_what_matters_only),
        TEST(the_digest_is_the_one_that_was_written_down),
        TEST(what_cannot_be_sent_is_named),
        TEST(what_is_not_there_is_named),
        TEST(patterns_mean_what_they_mean_to_git),
        TEST(without_source_everything_but_the_ignored_goes_along),
        TEST(rules_of_the_repository_above_hold_too),
        TEST(only_what_source_names_goes_along),
        TEST(the_share_is_never_taken_along),
        TEST(a_changed_sweep_file_does_not_change_the_source),
        TEST(data_are_a_file_or_what_is_in_a_folder),
        TEST(an_uploaded_tree_is_the_same_tree),
        TEST(nothing_is_uploaded_where_no_project_is),
        TEST(a_project_is_made_as_ordered),
        TEST(many_files_arrive_too),
        TEST(a_single_file_is_uploaded_as_a_file),
        TEST(a_file_that_changed_meanwhile_leaves_nothing_behind),
        TEST(a_share_that_is_not_there_is_never_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

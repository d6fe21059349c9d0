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
#include "common/io.h"
#include "common/path.h"

static int make_dir(void **state)
{
    char dir[] = "/tmp/ludwig-tree-XXXXXX";

    if (mkdtemp(dir) == NULL || setenv("XDG_CACHE_HOME", "/nonexistent", 1) < 0)
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
static char *list(const struct walk_plan *plan)
{
    static const char letters[PACK_KIND_COUNT] = "dfxl";
    struct walk *w = walk_begin(plan, NULL);
    struct buf text = { 0 };
    struct walk_entry entry;
    int rc;

    assert_non_null(w);
    while ((rc = walk_next(w, &entry, NULL)) == 1)
        buf_printf(&text, "%s%c %s", text.n > 0 ? ", " : "", letters[entry.kind], entry.path);
    assert_int_equal(rc, 0);
    walk_end(w);
    return text.n > 0 ? buf_take(&text) : mem_strdup("");
}

static void expect_list(const struct walk_plan *plan, const char *expected)
{
    char *found = list(plan);

    assert_string_equal(found, expected);
    free(found);
}

static struct tree all_of(const char *dir)
{
    return (struct tree){ .plan = { .top = dir, .everything = true } };
}

static struct digest digest_of_dir(const char *dir)
{
    struct tree_target nowhere = { .stock = stock_open(NULL, NULL) };
    struct tree t = all_of(dir);
    struct err e = { 0 };

    if (tree_pack(&t, &nowhere, &e) < 0)
        fail_msg("%s", e.text);
    stock_close(nowhere.stock);
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
    assert_int_equal(cargo_count_files(&t), 4);
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
        { "", "x.swp", false, true },          { "!*.swp", "x.swp", false, false },
        { "!*/", ".git", true, true },         { "!**", "a/.git", false, true },
        { "!.*", ".git", true, true },         { "x\t", "x", false, false },
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

/* ---- what git says ---- */

static void git(const char *dir, const char *words, struct buf *out)
{
    char *command = mem_printf(
        "cd '%s' && GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git %s", dir, words);
    FILE *f = popen(command, "r");
    size_t n;

    assert_non_null(f);
    do {
        n = fread(buf_reserve(out, 4096), 1, 4096, f);
        buf_added(out, n);
    } while (n > 0);
    assert_int_equal(pclose(f), 0);
    free(command);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Paths that end in NUL, sorted, each on a line. */
static char *sorted(struct buf *paths)
{
    char *all[64] = { NULL }, *at = (char *)paths->bytes;
    struct buf text = { 0 };
    size_t n = 0;

    for (char *end = at + paths->n; at < end; at += strlen(at) + 1) {
        assert_true(n < sizeof all / sizeof all[0]);
        all[n++] = at;
    }
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s\n", all[i]);
    buf_free(paths);
    return text.n > 0 ? buf_take(&text) : mem_strdup("");
}

static char *taken_by_git(const char *dir)
{
    struct buf paths = { 0 };

    git(dir, "ls-files -z --others --exclude-per-directory=.gitignore -x .gitignore", &paths);
    return sorted(&paths);
}

static char *taken_by_us(const char *dir)
{
    struct walk_plan plan = { .top = dir, .everything = true, .has_rules = true };
    struct walk *w = walk_begin(&plan, NULL);
    struct walk_entry entry;
    struct buf paths = { 0 };
    int rc;

    assert_non_null(w);
    while ((rc = walk_next(w, &entry, NULL)) == 1)
        if (entry.kind != PACK_FOLDER)
            buf_add(&paths, entry.path, strlen(entry.path) + 1);
    assert_int_equal(rc, 0);
    walk_end(w);
    return sorted(&paths);
}

static void expect_what_git_takes(const char *dir, const char *rules, const char *rules_below)
{
    char *expected, *found;

    put(dir, ".gitignore", rules);
    put(dir, "a/.gitignore", rules_below);
    expected = taken_by_git(dir);
    found = taken_by_us(dir);
    if (strcmp(expected, found) != 0)
        fail_msg("'%s', and below '%s': git takes\n%swe\n%s", rules, rules_below, expected, found);
    free(found);
    free(expected);
}

/* In form "1" and "2" stand for patterns. */
static char *rules_of(const char *form, const char *first, const char *second)
{
    struct buf text = { 0 };

    for (; *form != '\0'; form++) {
        if (*form == '1' || *form == '2')
            buf_add_str(&text, *form == '1' ? first : second);
        else
            buf_add_char(&text, *form);
    }
    return buf_take(&text);
}

static void what_git_would_leave_out_is_left_out(void **state)
{
    static const char *const paths[] = {
        "a/a",    "a/b",          "a/b.o",  "a/ab/x.py",    "a/ab/b", "a/.h",
        "a/x ",   "a/c/a/b/x.py", "ab",     "b/a",          "b/b.o",  "b/foo/a/b",
        "b/#x",   "b/a*b",        "c.d/ab", "c.d/a/.h",     "foo/!x", "foo/bar",
        "foo/[a", "foo/a\\b",     "foo/a]", "foo/\xc3\xa9", "x.py",   "\xff",
    };
    static const char *const parts[] = {
        "a",    "b",           "ab",    "foo",    "*",     "**",       "?",      "a*",    "*.o",
        "*.py", "[ab]",        "[!a]",  "[^a]",   "[a-c]", "\\#x",     "#x",     "\\!x",  "x\\ ",
        "x  ",  "**b",         "a\\*b", "[[]a",   "[]a]",  "a\\\\b",   "a\\b",   "a]",    "\\",
        ".*",   "[[:alpha:]]", "c.d",   "x.py\t", "???",   "\xc3\xa9", "[\xff]", "*[!.]", "a\r",
    };
    static const char *const forms[] = { "1/2",    "/1/2/",     "1\n!2",          "!1\n2/",
                                         "1/**/2", "**/1\n!/2", "*\n!*/\n!1\n2/*" };
    const char *dir = *state;
    const size_t n = sizeof parts / sizeof parts[0];
    struct buf nothing = { 0 };
    uint32_t x = 1;

    if (system("git --version >/dev/null 2>&1") != 0)
        skip();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        put(dir, paths[i], "");
    git(dir, "init -q", &nothing);
    for (size_t i = 0; i < 300; i++) {
        char *rules[2];

        for (size_t k = 0; k < 2; k++) {
            x = x * 1664525 + 1013904223;
            rules[k] = rules_of(forms[(x >> 8) % (sizeof forms / sizeof forms[0])],
                                parts[(x >> 12) % n], parts[(x >> 20) % n]);
        }
        expect_what_git_takes(dir, rules[0], i % 2 == 0 ? "" : rules[1]);
        free(rules[0]);
        free(rules[1]);
    }
    buf_free(&nothing);
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

static void load(struct cargo *c, const char *dir, const char *yaml)
{
    struct arena *a = arena_create();
    struct spec s = read_spec(dir, yaml, a);
    struct err e = { 0 };

    if (cargo_load(c, &s, NULL, &e) < 0)
        fail_msg("%s", e.text);
    arena_destroy(a);
}

static void expect_source(const char *dir, const char *yaml, const char *expected)
{
    struct cargo c;

    load(&c, dir, yaml);
    expect_list(&c.source.plan, expected);
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
    char *share = below(*state, "results");
    struct drive drive = { .mount = share };
    struct place to = { .drive = &drive, .project = "p" };
    struct spec s = read_spec(*state, HEAD, a);
    struct cargo c;

    put(*state, "results/p/runs/x", "");
    put(*state, "a.py", "");
    assert_int_equal(cargo_load(&c, &s, &to, NULL), 0);
    expect_list(&c.source.plan, "f a.py");
    cargo_free(&c);
    free(share);
    arena_destroy(a);
}

static void a_changed_sweep_file_does_not_change_the_source(void **state)
{
    struct cargo first, second;

    put(*state, "a.py", "x");
    load(&first, *state, HEAD);
    assert_int_equal(cargo_look(&first, NULL), 0);
    load(&second, *state, HEAD "reps: 2\n");
    assert_int_equal(cargo_look(&second, NULL), 0);
    expect_digests(&first.source.set.tree, &second.source.set.tree, true);
    cargo_free(&first);
    cargo_free(&second);
}

static void data_are_a_file_or_what_is_in_a_folder(void **state)
{
    struct cargo c;

    put(*state, "corpora/b/x.txt", "xx");
    put(*state, "corpora/__pycache__/y", "y");
    put(*state, "one.csv", "12345");
    load(&c, *state, HEAD "data: [corpora, one.csv]\n");
    assert_int_equal(c.n_data, 2);
    expect_list(&c.data[0].plan, "d __pycache__, f __pycache__/y, d b, f b/x.txt");
    expect_list(&c.data[1].plan, "f ");
    assert_int_equal(c.data[1].totals.bytes, 5);
    cargo_free(&c);
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
        TEST(patterns_mean_what_they_mean_to_git),
        TEST(what_git_would_leave_out_is_left_out),
        TEST(without_source_everything_but_the_ignored_goes_along),
        TEST(rules_of_the_repository_above_hold_too),
        TEST(only_what_source_names_goes_along),
        TEST(the_share_is_never_taken_along),
        TEST(a_changed_sweep_file_does_not_change_the_source),
        TEST(data_are_a_file_or_what_is_in_a_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

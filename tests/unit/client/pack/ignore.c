/* SPDX-License-Identifier: MIT */
/* ignore.c - tests of what rules leave out of a source, with git itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "client/pack/ignore.h"
#include "tests/unit/folder.h"
#include "tests/unit/skip.h"

enum { NOBODY = 65534 };

/* Of git's configuration none but what a test writes holds; our temporary files lie in "tmp". */
static int make_home(void **state)
{
    char *tmp;
    int result = make_dir(state);

    if (result < 0)
        return -1;
    tmp = below(*state, "tmp");
    result = mkdir(tmp, 0700) < 0 || setenv("TMPDIR", tmp, 1) < 0 || setenv("HOME", tmp, 1) < 0 ||
             setenv("GIT_CONFIG_NOSYSTEM", "1", 1) < 0 || unsetenv("XDG_CONFIG_HOME") < 0 ||
             unsetenv("GIT_CONFIG_GLOBAL") < 0;
    free(tmp);
    return result ? -1 : 0;
}

static void run(const char *dir, const char *command)
{
    char *line = mem_printf("cd '%s' && { %s; } >>~/said 2>&1", dir, command);

    if (system(line) != 0)
        fail_msg("%s", line);
    free(line);
}

static struct walk_plan everything(const char *dir)
{
    return (struct walk_plan){ .top = dir, .everything = true, .rules = ignore_create(dir) };
}

static void expect_plan(struct walk_plan plan, const char *expected)
{
    expect_list(&plan, expected);
    ignore_destroy(plan.rules);
}

static void expect_taken(const char *dir, const char *expected)
{
    expect_plan(everything(dir), expected);
}

static void expect_error_of(struct walk_plan plan, struct err *e)
{
    struct walk *w = walk_begin(&plan, e);
    struct walk_entry entry;
    int rc = 1;

    while (w != NULL && (rc = walk_next(w, &entry, e)) == 1)
        ;
    assert_true(w == NULL || rc == -1);
    walk_end(w);
    ignore_destroy(plan.rules);
}

static void expect_error(const char *dir, const char *text)
{
    struct err e = { 0 };

    expect_error_of(everything(dir), &e);
    if (strstr(e.text, text) == NULL || strchr(e.text, '\n') != NULL)
        fail_msg("%s", e.text);
}

/* ---- patterns ---- */

static void patterns_are_git_s(void **state)
{
    static const struct {
        const char *rules, *path, *expected;
    } cases[] = {
        { "*.o", "x/a.o", "d x" },
        { "/a", "x/a", "d x, f x/a" },
        { "/foo**", "foobar/x", "" },
        { "/foo**", "x/foo", "d x, f x/foo" },
        { "a/**/b", "a/x/y/b", "d a, d a/x, d a/x/y" },
        { "a[", "a[", "f a[" },
        { "a[bc]d", "acd", "" },
        { "*\n!keep", "keep", "f keep" },
        { "*\n!keep", "drop", "" },
        { "*\n!*/\n!*.py", "lib/a.py", "d lib, f lib/a.py" },
        { "*\n!*/\n!*.py", "lib/a.txt", "d lib" },
        { "out/\n!out/keep", "out/keep", "" },
        { "build/", "build", "f build" },
        { "build/", "x/build/y", "d x" },
        { "\\#x", "#x", "" },
        { "x\\ ", "x ", "" },
        { "x\r\ny\r\n", "y", "" },
        { "*.log", "new\nline.log", "" },
        { "*.log", "\xff.log", "" },
        { "new\\\nline", "new\nline", "f new\nline" },
        { "", "x.swp", "" },
        { "", "__pycache__/x.pyc", "" },
        { "!__pycache__/\n!*/", "a/__pycache__/x", "d a" },
        { "", "__pycache__", "f __pycache__" },
        { "!.git\n!**", "a/.git/x", "d a" },
        { "", "a/.ludwig-results", "d a" },
        { "", ".nfs0001", "" },
        { "", "._x", "" },
        { "", "swp", "f swp" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = mem_printf("case%zu", i), *dir = below(*state, name);

        put(dir, ".ludwigignore", cases[i].rules);
        put(dir, cases[i].path, "");
        expect_taken(dir, cases[i].expected);
        free(dir);
        free(name);
    }
}

static void a_folder_is_left_out_by_a_rule_for_it_alone(void **state)
{
    char *dir = below(*state, "d");

    put(dir, ".gitignore", "*.log\n/gone/\n/empty/\n");
    put(dir, "logs/deep/a.log", "");
    put(dir, "gone/x", "");
    put(dir, "empty/", "");
    put(dir, "stays/", "");
    expect_taken(dir, "d logs, d logs/deep, d stays");
    free(dir);
}

/* ---- repositories ---- */

static char *make_repository(const char *parent, const char *name)
{
    char *dir = below(parent, name);

    assert_int_equal(io_make_dirs(dir, 0755, NULL), 0);
    run(dir, "git init -q .");
    return dir;
}

static void what_git_tracks_is_taken(void **state)
{
    char *dir = make_repository(*state, "r");

    put(dir, ".gitignore", "*.log\n/ign/\n");
    put(dir, "a.log", "");
    put(dir, "b.log", "");
    put(dir, "ign/a", "");
    put(dir, "ign/b", "");
    run(dir, "git add .gitignore && git add -f a.log ign/a");
    expect_taken(dir, "f a.log, d ign, f ign/a");
    put(dir, ".ludwigignore", "a.log\n");
    expect_taken(dir, "f b.log, d ign, f ign/a, f ign/b");
    free(dir);
}

static void rules_of_the_whole_repository_and_of_the_user_hold(void **state)
{
    char *dir = make_repository(*state, "r"), *inner = below(dir, "experiments/one");

    put(dir, ".gitignore", "*.tmp\n/experiments/one/secret\n");
    put(dir, ".git/info/exclude", "info\n");
    put(*state, "tmp/.gitconfig", "[core]\nexcludesFile = ~/mine\n");
    put(*state, "tmp/mine", "my\n");
    put(inner, "a.py", "");
    put(inner, "b.tmp", "");
    put(inner, "secret", "");
    put(inner, "info", "");
    put(inner, "my", "");
    expect_taken(inner, "f a.py");
    put(inner, ".ludwigignore", "");
    expect_taken(inner, "f a.py, f b.tmp, f info, f my, f secret");
    free(inner);
    free(dir);
}

static void a_folder_that_its_repository_ignores_has_its_own_rules(void **state)
{
    char *dir = make_repository(*state, "r"), *scratch = below(dir, "scratch"),
         *deep = below(dir, "scratch/deep");

    put(dir, ".gitignore", "scratch/\n*.log\n");
    put(deep, "a.py", "");
    put(deep, "b.log", "");
    put(deep, "c.tmp", "");
    expect_taken(deep, "f a.py, f b.log, f c.tmp");
    put(deep, ".gitignore", "*.tmp\n");
    expect_taken(deep, "f a.py, f b.log");
    expect_taken(scratch, "d deep, f deep/a.py, f deep/b.log");
    expect_taken(dir, "");
    free(deep);
    free(scratch);
    free(dir);
}

static void a_repository_below_is_one_of_its_own(void **state)
{
    char *dir = make_repository(*state, "r"), *nested = make_repository(dir, "lib/nested");

    put(dir, ".gitignore", "*.log\n");
    put(nested, ".gitignore", "*.tmp\n");
    put(nested, "a.log", "");
    put(nested, "sub/b.tmp", "");
    put(dir, "c.log", "");
    put(dir, "d.tmp", "");
    expect_taken(dir, "f d.tmp, d lib, d lib/nested, f lib/nested/a.log, d lib/nested/sub");
    free(nested);
    free(dir);
    dir = below(*state, "none");
    nested = make_repository(dir, "nested");
    put(dir, ".gitignore", "*.log\n");
    put(dir, "a.log", "");
    put(nested, "a.log", "");
    put(nested, "b.tmp", "");
    put(nested, ".gitignore", "*.tmp\n");
    expect_taken(dir, "d nested, f nested/a.log");
    free(nested);
    free(dir);
}

/* Rules of ours hold in all that is below them. */
static void ludwigignore_holds_in_repositories_below(void **state)
{
    char *dir = make_repository(*state, "r"), *nested = make_repository(dir, "lib/nested"),
         *deeper = make_repository(nested, "sub/deeper");

    put(dir, ".ludwigignore", "*.log\n/lib/nested/secret/\n/lib/nested/sub/deeper/x\n");
    put(nested, ".gitignore", "*.tmp\n");
    put(nested, ".ludwigignore", "!keep.log\n");
    put(nested, "a.log", "");
    put(nested, "keep.log", "");
    put(nested, "b.tmp", "");
    put(nested, "secret/x", "");
    put(nested, "tracked", "");
    put(deeper, "x", "");
    put(deeper, "y", "");
    run(nested, "git add tracked && git -c user.name=a -c user.email=a@b commit -qm x");
    expect_taken(dir, "d lib, d lib/nested, f lib/nested/b.tmp, f lib/nested/keep.log, "
                      "d lib/nested/sub, d lib/nested/sub/deeper, f lib/nested/sub/deeper/y, "
                      "f lib/nested/tracked");
    free(deeper);
    free(nested);
    free(dir);
}

static void a_link_that_is_named_has_the_rules_of_where_it_leads(void **state)
{
    const char *const named[] = { "link" };
    char *dir = below(*state, "d"), *other = make_repository(*state, "other"),
         *link = below(dir, "link"), *as = below(*state, "as");
    struct walk_plan plan;

    put(dir, ".gitignore", "*.log\n");
    put(dir, "a.log", "");
    put(other, ".gitignore", "*.tmp\n");
    put(other, "a.log", "");
    put(other, "b.tmp", "");
    assert_int_equal(symlink(other, link), 0);
    plan = everything(dir);
    plan.named = named;
    plan.n_named = 1;
    expect_plan(plan, "d link, f link/a.log");
    expect_taken(dir, "l link");
    /* The tree itself by a link, too. */
    put(dir, ".ludwigignore", "*.log\n");
    put(dir, "sub/b.log", "");
    free(make_repository(dir, "nested"));
    put(dir, "nested/c.log", "");
    assert_int_equal(symlink(dir, as), 0);
    expect_taken(as, "l link, d nested, d sub");
    free(as);
    free(link);
    free(other);
    free(dir);
}

static void who_calls_us_does_not_say_which_repository(void **state)
{
    char *dir = make_repository(*state, "r"), *other = make_repository(*state, "other"),
         *index = below(other, ".git/index");

    put(dir, ".gitignore", "*.log\n");
    put(dir, "a.log", "");
    put(dir, "b", "");
    run(dir, "git add -f a.log b");
    assert_int_equal(setenv("GIT_DIR", "/nonexistent", 1), 0);
    assert_int_equal(setenv("GIT_WORK_TREE", other, 1), 0);
    assert_int_equal(setenv("GIT_INDEX_FILE", index, 1), 0);
    expect_taken(dir, "f a.log, f b");
    assert_int_equal(unsetenv("GIT_DIR"), 0);
    assert_int_equal(unsetenv("GIT_WORK_TREE"), 0);
    assert_int_equal(unsetenv("GIT_INDEX_FILE"), 0);
    free(index);
    free(other);
    free(dir);
}

/* ---- git that is missing, or fails ---- */

/* PATH is that folder below until put_back. */
static char *take_path(const char *dir, const char *name)
{
    char *before = mem_strdup(getenv("PATH")), *path = below(dir, name);

    assert_int_equal(io_make_dirs(path, 0755, NULL), 0);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    return before;
}

static void put_back(char *path)
{
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
}

static void without_rules_git_is_not_needed(void **state)
{
    char *dir = make_repository(*state, "r"), *nested = make_repository(dir, "nested"),
         *path = take_path(*state, "nothing");

    put(nested, "a.py", "");
    put(nested, "__pycache__/a.pyc", "");
    expect_taken(dir, "d nested, f nested/a.py");
    put_back(path);
    free(nested);
    free(dir);
}

static void rules_without_git_are_an_error(void **state)
{
    static const struct {
        const char *top, *rules;
    } cases[] = {
        { "r/inner", ".gitignore" },      { "r/inner", "inner/.gitignore" },
        { "r", "inner/b/.gitignore" },    { "r/inner", "inner/.ludwigignore" },
        { "none", "../none/.gitignore" },
    };
    const char *const named[] = { "a" };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *dir = make_repository(*state, "r"), *top = below(*state, cases[i].top),
             *rules = below(dir, cases[i].rules), *path = take_path(*state, "nothing"),
             *text =
                 mem_printf("%s says what to leave out, and git, which reads it, is not installed",
                            path_basename(rules));
        struct walk_plan plan = { .named = named, .n_named = 1, .top = top };

        put(dir, cases[i].rules, "x\n");
        put(dir, "inner/b/a", "");
        put(dir, "inner/a", "");
        put(dir, "a", "");
        put(*state, "none/a", "");
        expect_error(top, text);
        /* What is named is taken, whatever they say. */
        plan.rules = ignore_create(top);
        expect_plan(plan, "f a");
        assert_int_equal(io_remove_tree(dir, NULL), 0);
        put_back(path);
        free(text);
        free(rules);
        free(top);
        free(dir);
    }
}

static void git_s_error_is_told_in_a_line(void **state)
{
    char *dir = make_repository(*state, "r");

    put(dir, ".git/index", "no index at all");
    put(dir, "a", "");
    expect_error(dir, "index file smaller than expected; see `git -C '");
    put(dir, ".ludwigignore", "");
    expect_taken(dir, "f a");
    free(dir);
}

/* As a copied submodule, or a work tree whose repository has moved. */
static void what_is_no_repository_to_git_is_none(void **state)
{
    char *dir = below(*state, "d");

    put(dir, "sub/.git", "gitdir: /nonexistent\n");
    put(dir, "sub/.gitignore", "*.log\n");
    put(dir, "sub/a", "");
    put(dir, "sub/a.log", "");
    expect_taken(dir, "d sub, f sub/a");
    free(dir);
}

/* What is asked is the folder, wherever the repository's configuration says its files lie. */
static void a_repository_of_another_folder_s_files_says_what_is_ignored_here(void **state)
{
    char *dir = make_repository(*state, "r"), *other = below(*state, "other");

    put(other, ".gitignore", "b\n");
    put(dir, ".gitignore", "*.log\n");
    put(dir, "a.log", "");
    put(dir, "b", "");
    run(dir, "git config core.worktree ../../other");
    expect_taken(dir, "f b");
    run(dir, "git config --unset core.worktree && git config core.bare true");
    expect_taken(dir, "f b");
    free(other);
    free(dir);
}

/* git does not go into it, as others' files lie there. */
static void a_submodule_that_lost_its_repository_has_rules_of_its_own(void **state)
{
    char *dir = make_repository(*state, "r"), *model = below(dir, "lib/model");

    put(dir, ".gitmodules", "[submodule \"m\"]\npath = lib/model\nurl = x\n");
    put(dir, "c.log", "");
    put(model, ".gitignore", "*.log\n");
    put(model, "a.log", "");
    put(model, "src/b", "");
    put(model, "src/b.log", "");
    run(dir, "git update-index --add --cacheinfo "
             "160000,0123456789012345678901234567890123456789,lib/model");
    expect_taken(dir, "f .gitmodules, f c.log, d lib, d lib/model, d lib/model/src, "
                      "f lib/model/src/b");
    expect_taken(model, "d src, f src/b");
    free(model);
    free(dir);
}

static void somebody_else_s_repository_is_git_s_to_judge(void **state)
{
    char *dir = make_repository(*state, "r");

    put(dir, "a", "");
    if (geteuid() != 0)
        skip_because("takes root");
    assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
    expect_error(dir, "dubious ownership");
    assert_int_equal(setenv("SUDO_UID", "65534", 1), 0);
    expect_taken(dir, "f a");
    assert_int_equal(unsetenv("SUDO_UID"), 0);
    put(*state, "tmp/.gitconfig", "[safe]\ndirectory = *\n");
    expect_taken(dir, "f a");
    free(dir);
}

static void rules_that_git_would_not_read_are_an_error(void **state)
{
    char *dir = below(*state, "d"), *link = below(dir, ".ludwigignore");

    put(dir, "rules", "x\n");
    assert_int_equal(symlink("rules", link), 0);
    expect_error(dir, "/d/.ludwigignore is a link, which git does not follow");
    assert_int_equal(unlink(link), 0);
    put(dir, "a/.gitignore", "x\n");
    if (geteuid() != 0) {
        char *rules = below(dir, "a/.gitignore");

        assert_int_equal(chmod(rules, 0), 0);
        expect_error(dir, "/d/a/.gitignore: Permission denied");
        free(rules);
    }
    free(link);
    free(dir);
}

/* Instead of git until put_back. */
static char *fake_git(const char *dir, const char *script)
{
    char *before = mem_strdup(getenv("PATH")), *bin = below(dir, "bin"), *fake = below(bin, "git"),
         *path = mem_printf("%s:%s", bin, before);

    put(bin, "git", script);
    assert_int_equal(chmod(fake, 0755), 0);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    free(fake);
    free(bin);
    return before;
}

static void a_git_that_says_a_lot_does_not_hang(void **state)
{
    char *dir = make_repository(*state, "r"),
         *path = fake_git(*state, "#!/bin/sh\n"
                                  "case $* in *version) echo git version 3.0; exit ;; esac\n"
                                  "seq 200000 >&2\n"
                                  "seq 200000 | tr '\\n' '\\0'\n"
                                  "seq 200000 >&2\n");

    put(dir, "199999", "");
    put(dir, "200001", "");
    expect_taken(dir, "f 200001");
    put_back(path);
    free(dir);
}

static void a_git_that_is_too_old_is_not_asked(void **state)
{
    char *dir = make_repository(*state, "r"),
         *path = fake_git(*state, "#!/bin/sh\necho 'git version 2.31.8 (x)'\n");

    put(dir, "a", "");
    expect_taken(dir, "f a");
    put(dir, ".gitignore", "");
    expect_error(dir, "r/.gitignore says what to leave out: git does not say all that is ignored "
                      "before its version 2.32, and here is 2.31; ");
    put_back(path);
    free(dir);
}

/* ---- asking ---- */

static void expect_skipped(const char *dir, const char *folder, const char *expected)
{
    struct walk_plan plan = everything(dir);
    char *skipped = below(dir, folder);

    ignore_skip(plan.rules, skipped);
    expect_plan(plan, expected);
    free(skipped);
}

/* It is git's, too, to leave such a folder out, which shows that it need not look into it. */
static void git_is_told_where_it_need_not_look(void **state)
{
    char *dir = make_repository(*state, "r"), *inner = below(dir, "in ner");

    put(inner, "a", "");
    put(inner, "a.log", "");
    put(inner, "d [1]*\\ /x", "");
    put(inner, "d 1/x", "");
    put(dir, ".gitignore", "*.log\n");
    expect_skipped(inner, "d [1]*\\ ", "f a, d d 1, f d 1/x");
    expect_skipped(dir, "in ner/d [1]*\\ ", "d in ner, f in ner/a, d in ner/d 1, f in ner/d 1/x");
    put(inner, ".ludwigignore", "*.log\n");
    expect_skipped(inner, "d [1]*\\ ", "f a, d d 1, f d 1/x");
    free(inner);
    free(dir);
}

static void git_is_asked_once(void **state)
{
    char *dir = below(*state, "d"), *tmp = below(*state, "tmp"), *path;
    struct walk_plan plan;
    char *found;

    put(dir, ".gitignore", "*.log\n");
    put(dir, "a.log", "");
    put(dir, "b", "");
    plan = everything(dir);
    expect_list(&plan, "f b");
    path = take_path(*state, "nothing");
    expect_plan(plan, "f b");
    put_back(path);
    /* And nothing is left behind. */
    plan = (struct walk_plan){ .top = tmp, .everything = true };
    found = list(&plan);
    assert_string_equal(found, "");
    free(found);
    free(tmp);
    free(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_home, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(patterns_are_git_s),
        TEST(a_folder_is_left_out_by_a_rule_for_it_alone),
        TEST(what_git_tracks_is_taken),
        TEST(rules_of_the_whole_repository_and_of_the_user_hold),
        TEST(a_folder_that_its_repository_ignores_has_its_own_rules),
        TEST(a_repository_below_is_one_of_its_own),
        TEST(ludwigignore_holds_in_repositories_below),
        TEST(a_link_that_is_named_has_the_rules_of_where_it_leads),
        TEST(who_calls_us_does_not_say_which_repository),
        TEST(without_rules_git_is_not_needed),
        TEST(rules_without_git_are_an_error),
        TEST(git_s_error_is_told_in_a_line),
        TEST(what_is_no_repository_to_git_is_none),
        TEST(a_repository_of_another_folder_s_files_says_what_is_ignored_here),
        TEST(a_submodule_that_lost_its_repository_has_rules_of_its_own),
        TEST(somebody_else_s_repository_is_git_s_to_judge),
        TEST(rules_that_git_would_not_read_are_an_error),
        TEST(a_git_that_says_a_lot_does_not_hang),
        TEST(a_git_that_is_too_old_is_not_asked),
        TEST(git_is_told_where_it_need_not_look),
        TEST(git_is_asked_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

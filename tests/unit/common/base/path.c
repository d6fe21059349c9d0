/* SPDX-License-Identifier: MIT */
/* path.c - names and paths */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void joining_puts_one_slash_between(void **state)
{
    static const struct {
        const char *dir, *name, *joined;
    } cases[] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" },    { "/", "b", "/b" },
        { "", "b", "b" },    { "a", "", "a" },        { "a", "/etc/passwd", "a/etc/passwd" },
        { "/", "", "/" },    { ".", "b/c", "./b/c" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *joined = path_join(cases[i].dir, cases[i].name);

        assert_string_equal(joined, cases[i].joined);
        free(joined);
    }
}

static void a_path_is_its_folder_and_its_name(void **state)
{
    static const struct {
        const char *path, *dir, *base;
    } cases[] = {
        { "a/b/c", "a/b", "c" }, { "a", ".", "a" },   { "/a", "/", "a" }, { "a//b", "a", "b" },
        { "/a/b", "/a", "b" },   { "a/b/", "a", "" }, { "/", "/", "" },   { "", ".", "" },
        { "//a", "/", "a" },     { "a/", ".", "" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *dir = path_dirname(cases[i].path);

        assert_string_equal(dir, cases[i].dir);
        assert_string_equal(path_basename(cases[i].path), cases[i].base);
        free(dir);
    }
}

static void only_plain_relative_paths_stay_inside(void **state)
{
    static const struct {
        const char *path;
        bool inside;
        const char *what;
    } cases[] = {
        { "a", true, "a name" },
        { "data/a/b.npz", true, "a name in a folder" },
        { "..a/b..", true, "dots that are part of a name" },
        { "...", true, "three dots" },
        { ".hidden", true, "a hidden file" },
        { "", false, "nothing" },
        { "..", false, "the folder above" },
        { "data/../../x", false, "climbs out from the middle" },
        { "data/..", false, "climbs at the end" },
        { "/etc/passwd", false, "absolute" },
        { ".", false, "the folder itself" },
        { "./a", false, "begins with a dot" },
        { "a/./b", false, "a dot in the middle" },
        { "a//b", false, "an empty component" },
        { "a/", false, "a slash at the end" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++)
        if (path_is_inside(cases[i].path) != cases[i].inside)
            fail_msg("%s: %s", cases[i].path, cases[i].what);
}

static void a_portable_name_can_be_shown_everywhere(void **state)
{
    static const struct {
        const char *name;
        bool portable;
    } cases[] = {
        { "model.pt", true },  { "a b", true },
        { ".hidden", true },   { "Modell-\xc3\xa4", true },
        { "console", true },   { "com", true },
        { "comx", true },      { "com12", true },
        { "nul_", true },      { "a.nul", true },
        { "", false },         { "a/b", false },
        { "a\\b", false },     { "a:b", false },
        { "a*", false },       { "a?", false },
        { "\"a\"", false },    { "<a", false },
        { "a>", false },       { "a|b", false },
        { "a\nb", false },     { "a\x7f", false },
        { " a", false },       { "a ", false },
        { "a.", false },       { ".", false },
        { "..", false },       { "CON", false },
        { "nul", false },      { "Aux.txt", false },
        { "PRN", false },      { "com1", false },
        { "LPT9.log", false },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++)
        if (path_is_portable_name(cases[i].name) != cases[i].portable)
            fail_msg("\"%s\"", cases[i].name);
}

static void a_portable_name_has_at_most_200_bytes(void **state)
{
    char name[202];

    (void)state;
    memset(name, 'x', sizeof name);
    name[200] = '\0';
    assert_true(path_is_portable_name(name));
    name[200] = 'x';
    name[201] = '\0';
    assert_false(path_is_portable_name(name));
}

static void a_real_path_is_absolute_or_an_error_that_names_it(void **state)
{
    struct err e = { 0 };
    char *real = path_real("/usr/../", &e);

    (void)state;
    assert_string_equal(real, "/");
    assert_null(path_real("/no/such/path", &e));
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, "/no/such/path"));
    free(real);
}

static void a_tilde_alone_stands_for_the_home_folder(void **state)
{
    static const struct {
        const char *home, *path, *expanded;
    } cases[] = {
        { "/home/al", "~", "/home/al" },
        { "/home/al", "~/x", "/home/al/x" },
        { "/home/al", "~bob/x", "~bob/x" },
        { "/home/al", "/x/~", "/x/~" },
        { "/home/al", "", "" },
        { "", "~/x", "~/x" },
        { "/", "~/x", "/x" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *expanded;

        setenv("HOME", cases[i].home, 1);
        expanded = path_expand_home(cases[i].path);
        assert_string_equal(expanded, cases[i].expanded);
        free(expanded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joining_puts_one_slash_between),
        cmocka_unit_test(a_path_is_its_folder_and_its_name),
        cmocka_unit_test(only_plain_relative_paths_stay_inside),
        cmocka_unit_test(a_portable_name_can_be_shown_everywhere),
        cmocka_unit_test(a_portable_name_has_at_most_200_bytes),
        cmocka_unit_test(a_real_path_is_absolute_or_an_error_that_names_it),
        cmocka_unit_test(a_tilde_alone_stands_for_the_home_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* portable_names.c - tests of names that every system can show */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/path.h"
#include "worker/saved/portable_names.h"

static const char *one(const char *name, struct arena *a)
{
    struct portable_names_name names[] = { { name, NULL } };

    portable_names_names(names, 1, NULL, a);
    return names[0].to;
}

static const char *const ours[] = { "job.json", "metrics.jsonl", NULL };

static void what_cannot_be_shown_is_encoded(void **state)
{
    static const struct {
        const char *name, *to;
    } cases[] = {
        { "model.pt", "model.pt" },
        { "100%.txt", "100%.txt" },
        { "a b", "a b" },
        { "stra\xc3\x9f"
          "e",
          "stra\xc3\x9f"
          "e" },
        { "val:acc", "val%3Aacc" },
        { "what?*", "what%3F%2A" },
        { "50%: x", "50%25%3A x" },
        { " x ", "%20x%20" },
        { "x.", "x%2E" },
        { "a\nb", "a%0Ab" },
        { "con", "%63on" },
        { "NUL.txt", "%4EUL.txt" },
        { "\xff.bin", "%FF.bin" },
        { "\xc3\xa9\xc3", "\xc3\xa9%C3" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(one(cases[i].name, a), cases[i].to);
    arena_destroy(a);
}

static void what_is_too_long_is_cut_and_stays_unlike_others(void **state)
{
    struct arena *a = arena_create();
    char x[251], y[251], z[251];
    const char *short_x, *short_y;

    (void)state;
    memset(x, 'x', 250);
    x[250] = '\0';
    memcpy(y, x, sizeof y);
    y[249] = 'y';
    memset(z, ':', 250);
    z[250] = '\0';
    short_x = one(x, a);
    short_y = one(y, a);
    assert_true(path_is_portable_name(short_x) && path_is_portable_name(short_y));
    assert_string_not_equal(short_x, short_y);
    assert_string_equal(short_x, one(x, a));
    assert_true(path_is_portable_name(one(z, a)));
    arena_destroy(a);
}

static void names_equal_but_for_case_are_told_apart(void **state)
{
    struct portable_names_name names[] = { { "model.pt", NULL },     { "Model.pt", NULL },
                                           { "MODEL.PT", NULL },     { "Job.JSON", NULL },
                                           { "data", NULL },         { "model~2.pt", NULL },
                                           { "a:", NULL },           { "a%3A", NULL },
                                           { "metrics.jsonl", NULL } };
    static const struct {
        const char *name, *to;
    } wanted[] = {
        { "MODEL.PT", "MODEL.PT" },
        { "Model.pt", "Model~3.pt" },
        { "model.pt", "model~4.pt" },
        { "Job.JSON", "Job~2.JSON" },
        { "data", "data" },
        { "model~2.pt", "model~2.pt" },
        { "a:", "a%3A~2" },
        { "a%3A", "a%3A" },
        { "metrics.jsonl", "metrics~2.jsonl" },
    };
    struct arena *a = arena_create();
    size_t n = sizeof names / sizeof names[0];

    (void)state;
    portable_names_names(names, n, ours, a);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (strcmp(names[i].name, wanted[k].name) == 0)
                assert_string_equal(names[i].to, wanted[k].to);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(strcasecmp(names[i].to, names[k].to), 0);
    arena_destroy(a);
}

static void a_second_look_changes_nothing(void **state)
{
    struct portable_names_name names[] = {
        { "a", NULL }, { "A", NULL }, { "b?", NULL }, { "B%3f", NULL }
    };
    struct portable_names_name again[4];
    struct arena *a = arena_create();

    (void)state;
    portable_names_names(names, 4, ours, a);
    for (size_t i = 0; i < 4; i++)
        again[i].name = names[i].to;
    portable_names_names(again, 4, ours, a);
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(again[i].to, again[i].name);
    arena_destroy(a);
}

static void a_large_folder_takes_no_time(void **state)
{
    enum { N = 100 * 1000 };
    struct arena *a = arena_create();
    struct portable_names_name *names = mem_resize(NULL, N, sizeof *names);

    (void)state;
    for (size_t i = 0; i < N; i++)
        names[i].name = arena_printf(a, i % 2 ? "File_%zu" : "file_%zu", i / 2);
    portable_names_names(names, N, NULL, a);
    for (size_t i = 0; i < N; i++)
        assert_true((strchr(names[i].to, '~') == NULL) == (names[i].name[0] == 'F'));
    free(names);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_shown_is_encoded),
        cmocka_unit_test(what_is_too_long_is_cut_and_stays_unlike_others),
        cmocka_unit_test(names_equal_but_for_case_are_told_apart),
        cmocka_unit_test(a_second_look_changes_nothing),
        cmocka_unit_test(a_large_folder_takes_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

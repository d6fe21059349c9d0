/* SPDX-License-Identifier: MIT */
/* expand.c - tests of the configurations of a sweep: how they are written, and how many and how large they may be */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/proto/jobspec.h"
#include "tests/unit/client_expand.h"

static void maps_of_more_than_fifteen_keys_change_their_size(void **state)
{
    struct buf text = { 0 };
    struct arena *a = arena_create();
    struct expand *x;
    char *lines;

    (void)state;
    buf_add_str(&text, "params:\n  sw: [1, 2]\n");
    for (int i = 0; i < 14; i++)
        buf_printf(&text, "  k%d: %d\n", i, i);
    buf_add_str(&text, "  c: [x, y]\nwhen: {c: {sw: 2}}\n");
    x = expand_from(buf_text(&text), a);
    lines = expand_lines(x);
    assert_int_equal(expand_count_lines(lines), 3);
    expand_check_seeking(buf_text(&text), x);
    assert_non_null(strstr(lines, "{\"sw\":1,\"k0\":0"));
    assert_non_null(strstr(lines, "\"k13\":13}\n{\"sw\":2"));
    assert_non_null(strstr(lines, "\"k13\":13,\"c\":\"y\"}\n"));
    free(lines);
    buf_free(&text);
    expand_destroy(x);
    arena_destroy(a);
}

static void check_refused(const char *text, int64_t points_max, const char *error)
{
    struct arena *a = arena_create();
    struct err e = { 0 };

    if (expand_create(plan_from(text, a), "f.yaml", points_max, &e) != NULL ||
        strcmp(e.text, error) != 0)
        fail_msg("%s\nsaid:     %s\nexpected: %s", text, e.text, error);
    assert_int_equal(e.kind, ERR_USAGE);
    arena_destroy(a);
}

static void too_many_configurations_are_refused(void **state)
{
    static const char large[] = "params:\n  a: {range: [1, 1000]}\n  b: {range: [1, 1000]}\n";
    static const char huge[] = "params: {a: &a {range: [1, 1000000]}, b: *a, c: *a, d: *a}\n";
    char *text = mem_printf("%s  c: {range: [1, 12]}\n", large);
    char *excluded = mem_printf("%s  c: {range: [1, 12]}\nexclude: [{c: 1}]\n", large);
    char *included = mem_printf("%s  c: {range: [1, 10]}\ninclude: [{a: 0, b: 0, c: 0}]\n", large);

    (void)state;
    check_refused(text, POINTS_MAX,
                  "f.yaml:1:1: 12000000 configurations: more than 10000000 need --yes");
    check_refused(excluded, POINTS_MAX,
                  "f.yaml:1:1: 12000000 configurations: more than 10000000 need --yes");
    check_refused(included, POINTS_MAX,
                  "f.yaml:1:1: 10000001 configurations: more than 10000000 need --yes");
    check_refused(huge, POINTS_MAX, "f.yaml:1:1: more than 10000000 configurations need --yes");
    check_refused(huge, INT64_C(1) << 40,
                  "f.yaml:1:1: more than 1099511627776 configurations are too many");
    check_refused("params: {a: [1, 2]}\nmethod: random\nsamples: 10000001\nexclude: [{a: 1}]\n",
                  POINTS_MAX,
                  "f.yaml:3:10: 10000001 configurations: more than 10000000 need --yes");
    check_refused("params: {a: [1, 2, 3, 4, 5]}\n", 4,
                  "f.yaml:1:1: 5 configurations: more than 4 need --yes");
    check_refused("params: {a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], b: *a, c: 1}\n"
                  "when: {c: {a: 1, b: 2}}\n",
                  20, "f.yaml:1:1: more than 20 configurations need --yes");
    free(text);
    free(excluded);
    free(included);
}

static char *first_of(const char *text)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct expand *x = expand_create_first(plan_from(text, a), "f", &e);
    char *lines = x == NULL ? mem_strdup(e.text) : expand_lines(x);

    if (x != NULL)
        assert_int_equal(expand_count(x), 1);
    expand_destroy(x);
    arena_destroy(a);
    return lines;
}

static void the_first_alone_is_found_however_many_there_are(void **state)
{
#define HUGE_GRID "params: {a: &a {range: [1, 1000000]}, b: *a, c: *a, d: [1, 2]}\n"
    static const struct {
        const char *text, *first;
    } cases[] = {
        { "params: {a: [1, 2], b: 3}\n", "{\"a\":1,\"b\":3}\n" },
        { HUGE_GRID, "{\"a\":1,\"b\":1,\"c\":1,\"d\":1}\n" },
        { HUGE_GRID "exclude: [{a: 1}, {b: 1, d: 1}]\n", "{\"a\":2,\"b\":1,\"c\":1,\"d\":2}\n" },
        { "params: {a: [1, 2]}\nexclude: [{a: [1, 2]}]\ninclude: [{a: 7}, {a: 8}]\n",
          "{\"a\":7}\n" },
        { "params: {a: [1, 2]}\nexclude: [{a: [1, 2]}]\n",
          "f:2:11: exclude: nothing is left to be the first configuration" },
        { HUGE_GRID "exclude: [{d: [1, 2]}]\n",
          "f:2:11: exclude: nothing is left to be the first configuration" },
        { "params: {a: [1]}\nmethod: random\nsamples: 90000000\nexclude: [{a: 1}]\n",
          "f:4:11: exclude: nothing is left to be the first configuration" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *first = first_of(cases[i].text);

        if (strcmp(first, cases[i].first) != 0)
            fail_msg("%s\nfound: %s\n", cases[i].text, first);
        free(first);
    }
}

static void as_many_as_are_allowed_are_taken(void **state)
{
    struct arena *a = arena_create();
    const struct plan *p = plan_from("params: {a: [1, 2, 3, 4]}", a);
    struct expand *x = expand_create(p, "f", 4, NULL);

    (void)state;
    assert_non_null(x);
    expand_destroy(x);
    arena_destroy(a);
}

static void exclude_that_leaves_nothing_is_refused_at_its_place(void **state)
{
    (void)state;
    check_refused("params: {a: [1, 2]}\nexclude:\n  - {a: 1}\n  - {a: 2}\n", POINTS_MAX,
                  "f.yaml:3:5: exclude: nothing is left: it matches each of the 2 configurations");
    check_refused("params: {a: [1, 2], f: 0}\nexclude: [{f: 0}]\n", POINTS_MAX,
                  "f.yaml:2:11: exclude: nothing is left: it matches each of the 2 configurations");
    check_refused("params: {a: [1, 2], f: 0}\nmethod: random\nsamples: 7\nexclude: [{f: 0}]\n",
                  POINTS_MAX,
                  "f.yaml:4:11: exclude: nothing is left: it matches each of the 7 configurations");
}

static void a_configuration_that_no_message_can_hold_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct expand *x;

    (void)state;
    buf_add_str(&text, "params:\n  x: [a, b, ");
    for (int i = 0; i < PARAM2VAL_MAX_BYTES; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "]\n");
    check_refused(buf_text(&text), POINTS_MAX,
                  "f.yaml: params: one configuration takes more than 1048576 bytes; put large "
                  "values into a file of data:");
    text.n -= 102;
    text.bytes[text.n] = '\0';
    buf_add_str(&text, "]\n");
    x = expand_from(buf_text(&text), a);
    assert_int_equal(expand_count(x), 3);
    expand_destroy(x);
    text.n = strlen("params:\n  x: ");
    text.bytes[text.n] = '\0';
    buf_add_str(&text, "1\ninclude: [{x: ");
    for (int i = 0; i < PARAM2VAL_MAX_BYTES; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "}]\n");
    check_refused(buf_text(&text), POINTS_MAX,
                  "f.yaml: params: one configuration takes more than 1048576 bytes; put large "
                  "values into a file of data:");
    buf_free(&text);
    arena_destroy(a);
}

static void a_configuration_that_is_nested_too_deep_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct expand *x;

    (void)state;
    buf_add_str(&text, "params:\n  x: 1\n  y: [1, ");
    for (int i = 1; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_char(&text, '[');
    for (int i = 1; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_char(&text, ']');
    buf_add_str(&text, "]\n");
    x = expand_from(buf_text(&text), a);
    assert_int_equal(expand_count(x), 2);
    expand_destroy(x);
    text.n -= 2;
    buf_add_str(&text, ", [[");
    for (int i = 2; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_str(&text, "[");
    for (int i = 0; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_char(&text, ']');
    buf_add_str(&text, "]\n");
    check_refused(buf_text(&text), POINTS_MAX,
                  "f.yaml: params: y: a configuration may be nested 24 deep at most");
    buf_free(&text);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_of_more_than_fifteen_keys_change_their_size),
        cmocka_unit_test(too_many_configurations_are_refused),
        cmocka_unit_test(as_many_as_are_allowed_are_taken),
        cmocka_unit_test(the_first_alone_is_found_however_many_there_are),
        cmocka_unit_test(exclude_that_leaves_nothing_is_refused_at_its_place),
        cmocka_unit_test(a_configuration_that_no_message_can_hold_is_refused),
        cmocka_unit_test(a_configuration_that_is_nested_too_deep_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* canary.c - tests of the configurations that run first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/expand/canary.h"
#include "tests/unit/client_expand.h"

/* How many different values of the parameter the chosen points have. */
static size_t count_values(const struct points *points, const int64_t *chosen, size_t n,
                           const char *name)
{
    struct arena *a = arena_create();
    struct value *seen = arena_alloc(a, (n + 1) * sizeof *seen);
    size_t n_seen = 0;

    for (size_t i = 0; i < n; i++) {
        struct buf *point = arena_alloc(a, sizeof *point);
        struct value params;
        const struct value *v;
        size_t k = 0;

        points_seek(points, chosen[i]);
        assert_true(points_next(points, point));
        params = expand_read(point, a);
        v = value_get(&params, name);
        while (v != NULL && k < n_seen && !value_equal(&seen[k], v))
            k++;
        if (v != NULL && k == n_seen)
            seen[n_seen++] = value_copy(a, v);
        buf_free(point);
    }
    arena_destroy(a);
    return n_seen;
}

static void a_grid_is_covered_by_as_many_as_the_longest_list(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *names[3];
        size_t values[3];
    } cases[] = {
        { "params: {a: [1, 2, 3], b: [x, y], c: {range: [1, 5]}, d: 7}",
          5,
          { "a", "b", "c" },
          { 3, 2, 5 } },
        { "params: {a: [1, 2, 3], b: [x, y]}\nexclude: [{a: 2, b: y}]", 3, { "a", "b" }, { 3, 2 } },
        { "params: {a: [1, 2, 3], b: [4, 5, 6], c: [7, 8]}\nzip: [[a, b]]",
          3,
          { "a", "b", "c" },
          { 3, 3, 2 } },
        { "params: {o: [s, t], m: [1, 2, 3], l: [8, 9]}\nwhen: {m: {o: t}}",
          4,
          { "o", "m", "l" },
          { 2, 3, 2 } },
        { "params: {a: {range: [1, 100]}, b: {range: [1, 900]}}", 900, { "a", "b" }, { 100, 900 } },
        /* one list: all would be first */
        { "params: {a: [1, 2, 3]}", 0, { NULL }, { 0 } },
        { "params: {a: 1}", 0, { NULL }, { 0 } },
        /* samples have values of their own; what is chosen from a list is covered */
        { "params: {a: {uniform: [0, 1]}, b: {choice: [x, y, z]}}\nmethod: random\nsamples: 3000",
          3,
          { "b" },
          { 3 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct points points = { .expand = expand_from(cases[i].text, a) };
        size_t n;
        int64_t *chosen = canary_find(&points, points_count(&points), &n);

        if (n != cases[i].n)
            fail_msg("%s: %zu", cases[i].text, n);
        for (size_t k = 0; k < 3 && cases[i].names[k] != NULL; k++)
            assert_int_equal(count_values(&points, chosen, n, cases[i].names[k]),
                             cases[i].values[k]);
        for (size_t k = 1; k < n; k++)
            assert_true(chosen[k - 1] < chosen[k]);
        free(chosen);
        points_free(&points);
        arena_destroy(a);
    }
}

static void it_is_the_same_each_time(void **state)
{
    static const char text[] = "params: {a: [1, 2, 3, 4], b: [1, 2, 3], c: [1, 2]}";
    static const int64_t expected[] = { 0, 9, 16, 19 };
    struct arena *a = arena_create();
    struct points points = { .expand = expand_from(text, a) };

    (void)state;
    for (int i = 0; i < 2; i++) {
        size_t n;
        int64_t *chosen = canary_find(&points, points_count(&points), &n);

        assert_int_equal(n, 4);
        assert_memory_equal(chosen, expected, sizeof expected);
        free(chosen);
    }
    points_free(&points);
    arena_destroy(a);
}

/* The points are the seeds' lines of three, so a number says its opt. */
static void values_of_a_shorter_list_take_turns(void **state)
{
    static const char text[] = "params: {seed: [1, 2, 3, 4, 5, 6, 7], opt: [a, b, c]}";
    static const int64_t expected[] = { 0, 4, 8, 9, 13, 17, 18 };
    struct arena *a = arena_create();
    struct points points = { .expand = expand_from(text, a) };
    size_t n;
    int64_t *chosen = canary_find(&points, points_count(&points), &n);

    (void)state;
    assert_int_equal(n, 7);
    assert_memory_equal(chosen, expected, sizeof expected);
    free(chosen);
    points_free(&points);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_is_covered_by_as_many_as_the_longest_list),
        cmocka_unit_test(it_is_the_same_each_time),
        cmocka_unit_test(values_of_a_shorter_list_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* plan.c - tests of reading method, zip, when, exclude and include, and of looking them up */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/client_plan.h"

static void every_key_is_read(void **state)
{
    static const char text[] =
        "params: {a: [1, 2], b: [3, 4], c: [x, y], d: {uniform: [0, 1]}, e: 1}\n"
        "method: sobol\n"
        "samples: 9\n"
        "seed: 12345678901\n"
        "zip: [[b, a]]\n"
        "when:\n"
        "  d: {c: [x, y], a: {value: [1]}}\n"
        "exclude:\n"
        "  - {a: 1, c: x}\n"
        "  - {a: 2}\n"
        "include: [{c: {value: [1, 2]}, e: 0.5}]\n";
    struct arena *a = arena_create();
    const struct plan *p = plan_from(text, a);
    const struct zip_group *group = p->zip.items;
    const struct condition *when = p->when.items;
    const struct pins *exclude = p->exclude.items, *include = p->include.items;
    const struct pin *pins;

    (void)state;
    assert_int_equal(p->method, METHOD_SOBOL);
    assert_int_equal(p->samples, 9);
    assert_int_equal(p->seed, INT64_C(12345678901));
    assert_int_equal(p->zip.n, 1);
    assert_int_equal(group->names.n, 2);
    assert_string_equal(((const char **)group->names.items)[0], "b");
    assert_int_equal(group->at.line, 5);
    assert_int_equal(group->at.column, 7);
    assert_int_equal(p->when.n, 1);
    assert_string_equal(when->name, "d");
    assert_int_equal(when->at.line, 7);
    pins = when->pins.pins.items;
    assert_int_equal(when->pins.pins.n, 2);
    assert_int_equal(pins[0].n, 2);
    assert_int_equal(pins[1].n, 1);
    assert_int_equal(pins[1].values[0].type, VALUE_LIST);
    assert_int_equal(p->exclude.n, 2);
    assert_int_equal(exclude[1].at.line, 10);
    assert_int_equal(exclude[1].at.column, 5);
    assert_non_null(plan_find_pin(&exclude[0], "c"));
    assert_null(plan_find_pin(&exclude[1], "c"));
    assert_int_equal(p->include.n, 1);
    pins = include->pins.items;
    assert_int_equal(pins[0].values[0].type, VALUE_LIST);
    assert_int_equal(pins[0].values[0].list.n, 2);
    assert_true(pins[1].values[0].f == 0.5);
    arena_destroy(a);
}

static void a_key_with_nothing_behind_it_says_nothing(void **state)
{
    struct arena *a = arena_create();
    const struct plan *p = plan_from("params:\nzip:\nwhen:\nexclude:\ninclude:\n", a);

    (void)state;
    assert_int_equal(p->method, METHOD_GRID);
    assert_int_equal(p->params.n + p->zip.n + p->when.n + p->exclude.n + p->include.n, 0);
    arena_destroy(a);
}

static void a_place_in_a_group_is_found_by_the_values_that_are_named(void **state)
{
    static const struct {
        const char *entry;
        size_t position;
    } cases[] = {
        { "{a: 2}", 1 },
        { "{b: y}", 1 },
        { "{b: x}", 0 },
        { "{a: 3.0, b: x}", 2 },
        { "{a: 1, b: y}", SIZE_MAX },
        { "{c: 1}", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct plan *p = plan_from(arena_printf(a,
                                                "params: {a: [1, 2, 3], b: [x, y, x], c: 1}\n"
                                                "zip: [[a, b]]\ninclude: [%s]\n",
                                                cases[i].entry),
                                   a);

        assert_true(plan_find_position(p, p->zip.items, p->include.items) == cases[i].position);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(a_key_with_nothing_behind_it_says_nothing),
        cmocka_unit_test(a_place_in_a_group_is_found_by_the_values_that_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

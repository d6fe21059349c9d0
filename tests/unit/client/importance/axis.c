/* SPDX-License-Identifier: MIT */
/* axis.c - tests of what kind of values a parameter has */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "client/importance/axis.h"
#include "common/data/json.h"

enum { CONFIGS_MAX = 12 };

/* Of configurations with {"x": VALUE}; without it for "". */
static void make(struct aggregate *g, const char *const *values)
{
    aggregate_init(g);
    for (size_t i = 0; i < CONFIGS_MAX && values[i] != NULL; i++) {
        char *name = arena_printf(g->arena, "param_%03zu", i + 1);
        char *params = values[i][0] != '\0' ? arena_printf(g->arena, "{\"x\": %s}", values[i])
                                            : arena_printf(g->arena, "{}");
        struct job_result r = { .job = "1.1", .param_name = name, .state = JOB_DONE };

        assert_int_equal(json_read(params, strlen(params), g->arena, &r.params, NULL), 0);
        aggregate_add(g, &r);
    }
}

static void kinds_follow_from_the_values(void **state)
{
    static const struct {
        const char *values[CONFIGS_MAX];
        enum axis_kind kind;
        bool is_log, is_numeric;
        size_t n_choices, n_with;
    } cases[] = {
        { { "0.1", "0.01", "0.001", "0.1", "0.01", "0.001" }, AXIS_CHOICE, true, true, 3, 6 },
        { { "0.5", "0.1", "0.9", "0.3" }, AXIS_REAL, false, true, 4, 4 },
        { { "1e-4", "1e-3", "1e-2", "1e-1", "2e-3" }, AXIS_REAL, true, true, 5, 5 },
        { { "3", "17", "40", "25" }, AXIS_WHOLE, false, true, 4, 4 },
        { { "1", "10", "100", "1000" }, AXIS_WHOLE, true, true, 4, 4 },
        { { "1", "2.5", "7", "9" }, AXIS_REAL, false, true, 4, 4 },
        { { "1", "1.0", "1", "1.0" }, AXIS_CHOICE, false, true, 1, 4 },
        { { "\"sgd\"", "\"adam\"", "\"sgd\"", "" }, AXIS_CHOICE, false, false, 2, 3 },
        { { "true", "false", "null", "true" }, AXIS_CHOICE, false, false, 3, 4 },
        { { "1", "\"1\"", "[1]" }, AXIS_CHOICE, false, false, 3, 3 },
        { { "NaN", "1.0", "2.0", "NaN" }, AXIS_CHOICE, false, false, 3, 4 },
        { { "-1e308", "1e308", "0.0", "5e307" }, AXIS_REAL, false, true, 4, 4 },
        { { "-1", "0", "100000", "2" }, AXIS_WHOLE, false, true, 4, 4 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct aggregate g;
        struct axis axis;

        make(&g, cases[i].values);
        axis_of(&axis, &g, "x", g.arena);
        if (axis.kind != cases[i].kind || axis.is_log != cases[i].is_log ||
            axis.is_numeric != cases[i].is_numeric || axis.n_choices != cases[i].n_choices ||
            axis.n_with != cases[i].n_with)
            fail_msg("case %zu: kind %d, log %d, numeric %d, %zu choices, %zu with it", i,
                     axis.kind, axis.is_log, axis.is_numeric, axis.n_choices, axis.n_with);
        aggregate_free(&g);
    }
}

static void choices_are_in_order_and_places_lead_to_them(void **state)
{
    static const char *const values[CONFIGS_MAX] = { "\"b\"", "10", "\"a\"", "2", "", "10" };
    static const size_t wanted[] = { 3, 1, 2, 0, AXIS_NO_PLACE, 1 };
    struct aggregate g;
    struct axis axis;

    (void)state;
    make(&g, values);
    axis_of(&axis, &g, "x", g.arena);
    assert_int_equal(axis.n_choices, 4);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_int_equal(axis.places[i], wanted[i]);
    assert_int_equal(axis.choices[0].i, 2);
    assert_string_equal(axis.choices[3].str.s, "b");
    aggregate_free(&g);
}

static void fractions_are_finite_however_far_the_ends_are(void **state)
{
    struct axis wide = { .low = -1e308, .high = 1e308 }, one = { .low = 3, .high = 3 };
    struct axis decades = { .is_log = true, .low = 1e-4, .high = 1 };

    (void)state;
    assert_true(axis_fraction(&wide, 0) == 0.5);
    assert_true(axis_fraction(&wide, 1e308) == 1);
    assert_true(axis_fraction(&one, 3) == 0);
    assert_true(fabs(axis_fraction(&decades, 1e-2) - 0.5) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_follow_from_the_values),
        cmocka_unit_test(choices_are_in_order_and_places_lead_to_them),
        cmocka_unit_test(fractions_are_finite_however_far_the_ends_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

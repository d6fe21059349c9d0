/* SPDX-License-Identifier: MIT */
/* param_form.c - tests of the forms of a parameter's values */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/client_params.h"
#include "tests/unit/client_plan.h"

static void check_values(const char *text, enum param_form form, const char *expected)
{
    struct arena *a = arena_create();
    const struct param *param;
    struct err e = { 0 };
    struct list params;
    char *json;

    if (params_parse(arena_printf(a, "params:\n  q: %s\n", text), a, &params, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    param = params_find(&params, "q");
    json = params_json(param);
    if (strcmp(json, expected) != 0 || param->form != form)
        fail_msg("%s: form %d, %s instead of %s", text, param->form, json, expected);
    free(json);
    arena_destroy(a);
}

static void values_stand_for_themselves(void **state)
{
    static const struct {
        const char *text;
        enum param_form form;
        const char *values;
    } cases[] = {
        { "[0.1, 1e-3, 1, no, 2024-01-01, null, true, \"1\"]", PARAM_LIST,
          "[0.1,0.001,1,\"no\",\"2024-01-01\",null,true,\"1\"]" },
        { "[.inf, -.inf, .nan, 9223372036854775807]", PARAM_LIST,
          "[Infinity,-Infinity,NaN,9223372036854775807]" },
        { "[\"a\\0b\"]", PARAM_LIST, "[\"a\\u0000b\"]" },
        { "adam", PARAM_FIXED, "[\"adam\"]" },
        { "~", PARAM_FIXED, "[null]" },
        { "{value: [1, 2]}", PARAM_FIXED, "[[1,2]]" },
        { "{value: {a: 1}}", PARAM_FIXED, "[{\"a\":1}]" },
        { "{values: [[1, 2], {a: 1}]}", PARAM_LIST, "[[1,2],{\"a\":1}]" },
        { "{choice: [1, 1, a]}", PARAM_CHOICE, "[1,1,\"a\"]" },
        { "[7]", PARAM_LIST, "[7]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_values(cases[i].text, cases[i].form, cases[i].values);
}

static size_t count_range(const char *range)
{
    struct arena *a = arena_create();
    char *text = mem_printf("params: {p: {range: %s}}\n", range);
    size_t n = ((const struct param *)plan_from(text, a)->params.items)->n;

    free(text);
    arena_destroy(a);
    return n;
}

/* Their last digits are as coarse as a part of the step. */
static void fine_ranges_of_large_numbers_reach_their_end(void **state)
{
    (void)state;
    assert_int_equal(count_range("[76820000, 76820000.0068, 0.0004]"), 18);
    assert_int_equal(count_range("[76820000.0068, 76820000, -0.0004]"), 18);
    assert_int_equal(count_range("[0, 0.0069999, 0.0004]"), 18);
}

static void ranges_include_both_ends_as_far_as_the_steps_reach(void **state)
{
    static const struct {
        const char *text, *values;
    } cases[] = {
        { "[2, 6]", "[2,3,4,5,6]" },
        { "[3, 3]", "[3]" },
        { "[3, 3, -7]", "[3]" },
        { "[1, 6, 2]", "[1,3,5]" },
        { "[6, 2, -2]", "[6,4,2]" },
        { "[-1, -4, -2]", "[-1,-3]" },
        { "[9223372036854775805, 9223372036854775807]",
          "[9223372036854775805,9223372036854775806,9223372036854775807]" },
        { "[-9223372036854775808, 9223372036854775807, 9223372036854775807]",
          "[-9223372036854775808,-1,9223372036854775806]" },
        { "[9223372036854775807, -9223372036854775808, -9223372036854775808]",
          "[9223372036854775807,-1]" },
        { "[0, 1, 0.25]", "[0.0,0.25,0.5,0.75,1.0]" },
        { "[0, 1, 0.1]", "[0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0]" },
        { "[0, 0.3, 0.1]", "[0.0,0.1,0.2,0.3]" },
        { "[0, 0.35, 0.1]", "[0.0,0.1,0.2,0.3]" },
        { "[-0.3, 0.3, 0.1]", "[-0.3,-0.2,-0.1,0.0,0.1,0.2,0.3]" },
        { "[1, 0, -0.5]", "[1.0,0.5,0.0]" },
        { "[1000, 1000.3, 0.1]", "[1000.0,1000.1,1000.2,1000.3]" },
        { "[0.5, 3.2]", "[0.5,1.5,2.5]" },
        { "[1.0, 3]", "[1.0,2.0,3.0]" },
        { "[1e-7, 3e-7, 1e-7]", "[1e-07,2e-07,3e-07]" },
        { "[-1e308, 1e308, 1e308]", "[-1e+308,0.0,1e+308]" },
        { "[0.1, 0.1, 5.0]", "[0.1]" },
        { "[76820000, 76820000.0008, 0.0004]", "[76820000.0,76820000.0004,76820000.0008]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = mem_printf("{range: %s}", cases[i].text);

        check_values(text, PARAM_LIST, cases[i].values);
        free(text);
    }
}

static void spaces_have_the_numbers_people_meant(void **state)
{
    static const struct {
        const char *text, *values;
    } cases[] = {
        { "{linspace: [0, 1, 11]}", "[0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0]" },
        { "{linspace: [0, 1, 4]}", "[0.0,0.333333333333333,0.666666666666667,1.0]" },
        { "{linspace: [5, 9, 1]}", "[5.0]" },
        { "{linspace: [9, 5, 2.0]}", "[9.0,5.0]" },
        { "{linspace: [-1, 1, 5]}", "[-1.0,-0.5,0.0,0.5,1.0]" },
        { "{linspace: [-0.1, 0.2, 4]}", "[-0.1,0.0,0.1,0.2]" },
        { "{linspace: [-0.499, 0.501, 3]}", "[-0.499,0.001,0.501]" },
        { "{linspace: [-1.7e308, 1.7e308, 3]}", "[-1.7e+308,0.0,1.7e+308]" },
        { "{linspace: [0.12345678901234566, 1, 2]}", "[0.12345678901234566,1.0]" },
        { "{logspace: [-3, -1, 3]}", "[0.001,0.01,0.1]" },
        { "{logspace: [0, 3, 4]}", "[1.0,10.0,100.0,1000.0]" },
        { "{logspace: [-3, -2, 3]}", "[0.001,0.00316227766016838,0.01]" },
        { "{logspace: [-3, -1, 4]}", "[0.001,0.00464158883361278,0.0215443469003188,0.1]" },
        { "{logspace: [-3, 3, 7]}", "[0.001,0.01,0.1,1.0,10.0,100.0,1000.0]" },
        { "{logspace: [-1, -5, 5]}", "[0.1,0.01,0.001,0.0001,1e-05]" },
        { "{logspace: [300, 308, 2]}", "[1e+300,1e+308]" },
        { "{logspace: [0.5, 0.5, 1]}", "[3.16227766016838]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_values(cases[i].text, PARAM_LIST, cases[i].values);
}

static void small_numbers_between_large_ones_keep_their_digits(void **state)
{
    struct arena *a = arena_create();
    struct list params;

    (void)state;
    assert_int_equal(params_parse("params: {q: {linspace: [0, 0.5, 1e2]}}", a, &params, NULL), 0);
    assert_int_equal(params_find(&params, "q")->n, 100);
    assert_true(params_find(&params, "q")->values[1].f == 0.00505050505050505);
    arena_destroy(a);
}

static void distributions_keep_their_bounds(void **state)
{
    static const char text[] = "params:\n"
                               "  u: {uniform: [0, 0.5]}\n"
                               "  l: {log_uniform: [1e-5, 1]}\n"
                               "  i: {int_uniform: [-3, 1e3]}\n"
                               "  n: {normal: [-1, 2.5]}\n"
                               "  s: {uniform: [2, 2]}\n"
                               "  w: {log_int: [8, 1024]}\n";
    struct arena *a = arena_create();
    const struct param *p;
    struct list params;

    (void)state;
    assert_int_equal(params_parse(text, a, &params, NULL), 0);
    p = params.items;
    assert_int_equal(p[0].form, PARAM_UNIFORM);
    assert_true(p[0].low == 0 && p[0].high == 0.5 && p[0].n == 0);
    assert_int_equal(p[1].form, PARAM_LOG_UNIFORM);
    assert_true(p[1].low == 1e-5 && p[1].high == 1);
    assert_int_equal(p[2].form, PARAM_INT_UNIFORM);
    assert_true(p[2].first == -3 && p[2].last == 1000);
    assert_int_equal(p[3].form, PARAM_NORMAL);
    assert_true(p[3].low == -1 && p[3].high == 2.5);
    assert_true(p[4].low == 2 && p[4].high == 2);
    assert_int_equal(p[5].form, PARAM_LOG_INT);
    assert_true(p[5].first == 8 && p[5].last == 1024);
    assert_int_equal(p[3].line, 5);
    assert_int_equal(p[3].column, 3);
    arena_destroy(a);
}

/* The value stands at line 2, column 6. */
static void every_mistake_names_its_place_and_what_was_expected(void **state)
{
    static const struct {
        const char *value, *error;
    } cases[] = {
        { "[]", "f:2:6: q: an empty list leaves nothing to run" },
        { "{values: 3}", "f:2:15: q: values: expected a list, found '3'" },
        { "{values: []}", "f:2:15: q: values: an empty list leaves nothing to run" },
        { "{choice: {a: 1}}", "f:2:15: q: choice: expected a list, found a map" },
        { "{}", "f:2:6: q: expected one form such as {values: [1, 2]}" },
        { "{range: [1, 2], value: 3}", "f:2:6: q: expected one form such as {values: [1, 2]}" },
        { "{lnspace: [1, 2, 3]}", "f:2:7: q: unknown form 'lnspace' (did you mean 'linspace'?)" },
        { "{depth: 1}", "f:2:7: q: unknown form 'depth' (a map as a value: q: {value: {...}})" },
        { "{range: 3}",
          "f:2:14: q: range: expected [FIRST, LAST] or [FIRST, LAST, STEP], found '3'" },
        { "{range: [1]}",
          "f:2:14: q: range: expected [FIRST, LAST] or [FIRST, LAST, STEP], found a list of 1" },
        { "{range: [1, 2, 3, 4]}",
          "f:2:14: q: range: expected [FIRST, LAST] or [FIRST, LAST, STEP], found a list of 4" },
        { "{range: [1, x]}", "f:2:18: q: range: expected a finite number, found 'x'" },
        { "{range: [1, \"2\"]}", "f:2:18: q: range: expected a finite number, found '2'" },
        { "{range: [1, .inf]}", "f:2:18: q: range: expected a finite number, found '.inf'" },
        { "{range: [1, 5, 0]}", "f:2:21: q: range: a step of 0 leads nowhere" },
        { "{range: [1, 5, 0.0]}", "f:2:21: q: range: a step of 0 leads nowhere" },
        { "{range: [6, 2]}", "f:2:14: q: range: a step of 1 does not lead from 6 to 2" },
        { "{range: [0.5, 0]}", "f:2:14: q: range: a step of 1 does not lead from 0.5 to 0" },
        { "{range: [2, 6, -1]}", "f:2:21: q: range: a step of -1 does not lead from 2 to 6" },
        { "{range: [2, 6, -0.1]}", "f:2:21: q: range: a step of -0.1 does not lead from 2 to 6" },
        { "{range: [1, 10000001]}", "f:2:14: q: range: more than 10000000 values" },
        { "{range: [-9223372036854775808, 9223372036854775807]}",
          "f:2:14: q: range: more than 10000000 values" },
        { "{range: [0, 1, 1e-9]}", "f:2:14: q: range: more than 10000000 values" },
        { "{range: [1e308, 1.1e308, 1e-300]}", "f:2:14: q: range: more than 10000000 values" },
        { "{range: [1e16, 1e16, 1.0]}", NULL },
        { "{range: [1e16, 10000000000000010, 2.0]}",
          "f:2:14: q: range: its values lie too close together: 15 digits do not tell them apart" },
        { "{range: [-1.7e308, 1.7e308, 0.7e308]}",
          "f:2:14: q: range: its values are too large for a number" },
        { "{linspace: [1, 2]}",
          "f:2:17: q: linspace: expected [FIRST, LAST, N], found a list of 2" },
        { "{linspace: [1, 2, 0]}", "f:2:24: q: linspace: expected at least 1 value, found '0'" },
        { "{linspace: [1, 2, 2.5]}", "f:2:24: q: linspace: expected a whole number, found '2.5'" },
        { "{linspace: [1, 2, .nan]}",
          "f:2:24: q: linspace: expected a whole number, found '.nan'" },
        { "{linspace: [1, 2, 10000001]}", "f:2:24: q: linspace: more than 10000000 values" },
        { "{linspace: [.nan, 2, 3]}",
          "f:2:18: q: linspace: expected a finite number, found '.nan'" },
        { "{linspace: [1, 1, 3]}",
          "f:2:17: q: linspace: its values lie too close together: 15 digits do not tell them apart" },
        { "{logspace: [0, 400, 3]}", "f:2:21: q: logspace: 10^400 is too large for a number" },
        { "{logspace: [-400, 0, 3]}", "f:2:18: q: logspace: 10^-400 is too small for a number" },
        { "{uniform: [1]}", "f:2:16: q: uniform: expected [LOW, HIGH], found a list of 1" },
        { "{uniform: [2, 1]}", "f:2:16: q: uniform: 2 is above 1" },
        { "{uniform: [0, .inf]}", "f:2:20: q: uniform: expected a finite number, found '.inf'" },
        { "{log_uniform: [0, 1]}", "f:2:21: q: log_uniform: expected a number above 0, found '0'" },
        { "{log_uniform: [-1, 1]}",
          "f:2:21: q: log_uniform: expected a number above 0, found '-1'" },
        { "{log_uniform: [2, 1]}", "f:2:20: q: log_uniform: 2 is above 1" },
        { "{int_uniform: [0.5, 2]}",
          "f:2:21: q: int_uniform: expected a whole number, found '0.5'" },
        { "{int_uniform: [3, 2]}", "f:2:20: q: int_uniform: 3 is above 2" },
        { "{normal: [0, 0]}",
          "f:2:19: q: normal: expected a standard deviation above 0, found '0'" },
        { "{normal: [0, -1]}",
          "f:2:19: q: normal: expected a standard deviation above 0, found '-1'" },
        { "{normal: [0, 1e308]}",
          "f:2:15: q: normal: it would draw numbers too large for a number" },
        { "{uniform: [0, 1], round: 3}", NULL },
        { "{round: 3, normal: [0, 1]}", NULL },
        { "{uniform: [0, 1], round: 0}",
          "f:2:31: q: uniform: round: expected how many digits, from 1 to 15" },
        { "{log_int: [0, 2]}", "f:2:17: q: log_int: expected a whole number above 0, found '0'" },
        { "{log_int: [1, 2e15]}", "f:2:20: q: log_int: expected at most 10^15, found '2e15'" },
        { "{log_int: [3, 2]}", "f:2:16: q: log_int: 3 is above 2" },
        { "{int_uniform: [0, 1], round: 3}",
          "f:2:35: q: int_uniform: round goes with uniform, log_uniform and normal" },
        { "{normal: [0, [1]]}", "f:2:19: q: normal: expected a finite number, found a list" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        struct list params;
        int answer =
            params_parse(arena_printf(a, "params:\n  q: %s\n", cases[i].value), a, &params, &e);

        if (answer != (cases[i].error == NULL ? 0 : -1) ||
            (cases[i].error != NULL && strcmp(e.text, cases[i].error) != 0))
            fail_msg("%s\nsaid:     %s\nexpected: %s", cases[i].value, e.text, cases[i].error);
        arena_destroy(a);
    }
}

static void every_form_is_in_the_table_for_the_manual(void **state)
{
    size_t n = 0;

    (void)state;
    for (; param_forms[n].name != NULL; n++) {
        struct arena *a = arena_create();
        char *text = arena_printf(a, "params:\n  q: {%s: 1}\n", param_forms[n].name);
        struct err e = { 0 };
        struct list params;

        params_parse(text, a, &params, &e);
        assert_null(strstr(e.text, "unknown form"));
        assert_non_null(param_forms[n].argument);
        assert_non_null(param_forms[n].help);
        arena_destroy(a);
    }
    assert_int_equal(n, 11);
    assert_string_equal(param_form_name(PARAM_CHOICE), "choice");
    assert_string_equal(param_form_name(PARAM_NORMAL), "normal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stand_for_themselves),
        cmocka_unit_test(fine_ranges_of_large_numbers_reach_their_end),
        cmocka_unit_test(ranges_include_both_ends_as_far_as_the_steps_reach),
        cmocka_unit_test(spaces_have_the_numbers_people_meant),
        cmocka_unit_test(small_numbers_between_large_ones_keep_their_digits),
        cmocka_unit_test(distributions_keep_their_bounds),
        cmocka_unit_test(every_mistake_names_its_place_and_what_was_expected),
        cmocka_unit_test(every_form_is_in_the_table_for_the_manual),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

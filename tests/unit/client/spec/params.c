/* SPDX-License-Identifier: MIT */
/* params.c - tests of reading parameters from a file and from --set */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/client_params.h"

static void names_that_cannot_be_are_refused(void **state)
{
    char *long_name = mem_alloc(202);
    char *text;
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "params:\n  '': 1\n", "f:2:3: a parameter without a name" },
        { "params:\n  \"a\\tb\": 1\n", "f:2:3: a control character in a parameter's name" },
        { "params:\n  a: 1\n  LUDWIG_JOB: 1\n",
          "f:3:3: LUDWIG_JOB: names that begin with LUDWIG_ are reserved" },
        { "debug:\n  LUDWIG_X: 1\n",
          "f:2:3: LUDWIG_X: names that begin with LUDWIG_ are reserved" },
        { "params: [a]\n", "f:1:9: params: expected 'name: value' lines, found a list" },
        { "params:\n  a: {range: 1}\n  b: []\n",
          "f:2:14: a: range: expected [FIRST, LAST] or [FIRST, LAST, STEP], found '1'\n"
          "f:3:6: b: an empty list leaves nothing to run" },
    };
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct list params;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(params_parse(cases[i].text, a, &params, &e), -1);
        assert_string_equal(e.text, cases[i].error);
    }
    memset(long_name, 'x', 201);
    text = mem_printf("params:\n  %s: 1\n", long_name);
    assert_int_equal(params_parse(text, a, &params, &e), -1);
    assert_string_equal(e.text, "f:2:3: a parameter's name has at most 200 bytes");
    assert_int_equal(
        params_parse("params: {ludwig_x: 1, \"{a b}\": 2, XLUDWIG_: 3}", a, &params, &e), 0);
    free(text);
    free(long_name);
    arena_destroy(a);
}

static void for_debug_a_list_is_one_value(void **state)
{
    struct arena *a = arena_create();
    struct list params;
    char *json;

    (void)state;
    assert_int_equal(params_parse("debug: {a: [1, 2], b: {range: [1, 2]}}", a, &params, NULL), 0);
    json = params_json(params_find(&params, "a"));
    assert_string_equal(json, "[[1,2]]");
    free(json);
    json = params_json(params_find(&params, "b"));
    assert_string_equal(json, "[{\"range\":[1,2]}]");
    free(json);
    arena_destroy(a);
}

static const char set_text[] = "params:\n  lr: [0.1, 0.2]\n  'a b': 1\n";

static void set_takes_what_the_file_could_say(void **state)
{
    static const struct {
        const char *set, *name;
        enum param_form form;
        const char *values;
    } cases[] = {
        { "lr=0.5", "lr", PARAM_FIXED, "[0.5]" },
        { "lr=[0.1,0.2]", "lr", PARAM_LIST, "[0.1,0.2]" },
        { "lr={range: [1, 3]}", "lr", PARAM_LIST, "[1,2,3]" },
        { "lr={uniform: [1, 3]}", "lr", PARAM_UNIFORM, "[]" },
        { "lr=", "lr", PARAM_FIXED, "[null]" },
        { "lr='1'", "lr", PARAM_FIXED, "[\"1\"]" },
        { "lr=a=b", "lr", PARAM_FIXED, "[\"a=b\"]" },
        { "a b=2", "a b", PARAM_FIXED, "[2]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        const struct param *param;
        struct err e = { 0 };
        struct list params;
        char *json;

        assert_int_equal(params_parse(set_text, a, &params, &e), 0);
        if (params_set(&params, cases[i].set, a, &e) < 0)
            fail_msg("%s: %s", cases[i].set, e.text);
        param = params_find(&params, cases[i].name);
        json = params_json(param);
        assert_string_equal(json, cases[i].values);
        assert_int_equal(param->form, cases[i].form);
        assert_int_equal(param->line, 0);
        assert_string_equal(param->name, cases[i].name);
        free(json);
        arena_destroy(a);
    }
}

static void what_set_cannot_take_is_told_and_changes_nothing(void **state)
{
    static const struct {
        const char *set, *error;
    } cases[] = {
        { "lr", "--set takes NAME=VALUE, not 'lr'" },
        { "lrr=1", "--set lrr: unknown parameter 'lrr' (did you mean 'lr'?)" },
        { "zzzzz=1", "--set zzzzz: unknown parameter 'zzzzz' (there are lr, a b)" },
        { "lr=[1", "--set lr: expected ',' or ']', in '[1'" },
        { "lr=[]", "--set lr: an empty list leaves nothing to run" },
        { "lr={range: [6, 2]}", "--set lr: range: a step of 1 does not lead from 6 to 2" },
        { "lr={linspace: [x, 1, 0]}", "--set lr: linspace: expected a finite number, found 'x'" },
        { "lr={uniform: [.nan, .inf]}",
          "--set lr: uniform: expected a finite number, found '.nan'\n"
          "--set lr: uniform: expected a finite number, found '.inf'" },
        { "lr={rnge: [1, 2]}", "--set lr: unknown form 'rnge' (did you mean 'range'?)" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        struct list params;

        assert_int_equal(params_parse(set_text, a, &params, &e), 0);
        assert_int_equal(params_set(&params, cases[i].set, a, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_string_equal(e.text, cases[i].error);
        assert_int_equal(params_set(&params, cases[i].set, a, NULL), -1);
        assert_int_equal(params_find(&params, "lr")->form, PARAM_LIST);
        assert_int_equal(params_find(&params, "lr")->n, 2);
        assert_int_equal(params_find(&params, "lr")->line, 2);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_cannot_be_are_refused),
        cmocka_unit_test(for_debug_a_list_is_one_value),
        cmocka_unit_test(set_takes_what_the_file_could_say),
        cmocka_unit_test(what_set_cannot_take_is_told_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

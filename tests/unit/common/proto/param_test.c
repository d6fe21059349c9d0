/* SPDX-License-Identifier: MIT */
/* param_test.c - tests of tests of parameters */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "common/data/json.h"
#include "common/proto/param_test.h"

static void a_test_holds_for_configurations_with_that_value(void **state)
{
    static const char text[] = "{\"opt\": \"lion\", \"lr\": 0.5, \"n\": 4, \"bad\": NaN}";
    static const struct {
        struct param_test test;
        bool holds;
    } cases[] = {
        { { "opt", PARAM_IS, { VALUE_STR, .str = { "lion", 4 } } }, true },
        { { "opt", PARAM_IS, { VALUE_STR, .str = { "sgd", 3 } } }, false },
        { { "n", PARAM_IS, { VALUE_FLOAT, .f = 4 } }, true },
        { { "n", PARAM_AT_LEAST, { VALUE_FLOAT, .f = 4 } }, true },
        { { "n", PARAM_AT_LEAST, { VALUE_FLOAT, .f = 4.5 } }, false },
        { { "lr", PARAM_AT_MOST, { VALUE_INT, .i = 1 } }, true },
        { { "lr", PARAM_AT_MOST, { VALUE_FLOAT, .f = 0.4 } }, false },
        { { "opt", PARAM_AT_MOST, { VALUE_INT, .i = 1 } }, false },
        { { "bad", PARAM_AT_MOST, { VALUE_INT, .i = 1 } }, false },
        { { "absent", PARAM_IS, { VALUE_NULL, .i = 0 } }, false },
    };
    struct arena *a = arena_create();
    struct value params;

    (void)state;
    assert_int_equal(json_read(text, strlen(text), a, &params, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(param_test_holds(&cases[i].test, &params), cases[i].holds);
    arena_destroy(a);
}

static void a_test_is_written_as_people_write_it(void **state)
{
    struct value one = { VALUE_INT, .i = 1 };
    const struct {
        struct param_test test;
        const char *text;
    } cases[] = {
        { { "optimizer", PARAM_IS, value_str("lion") }, "optimizer=lion" },
        { { "lr", PARAM_AT_LEAST, value_float(0.5) }, "lr >= 0.5" },
        { { "lr", PARAM_AT_MOST, value_float(1e-5) }, "lr <= 1e-05" },
        { { "flag", PARAM_IS, value_bool(true) }, "flag=true" },
        { { "init", PARAM_IS, value_null() }, "init=null" },
        { { "name", PARAM_IS, value_str("two words") }, "name=\"two words\"" },
        { { "name", PARAM_IS, value_str("a\"b\\c") }, "name=\"a\\\"b\\\\c\"" },
        { { "name", PARAM_IS, value_str("1") }, "name=\"1\"" },
        { { "name", PARAM_IS, value_str("Yes") }, "name=\"Yes\"" },
        { { "in", PARAM_IS, value_str("") }, "\"in\"=\"\"" },
        { { "state", PARAM_IS, value_str("solid") }, "params.state=solid" },
        { { "layers", PARAM_IS, value_list(&one, 1) }, "layers=\"[1]\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        param_test_add(&out, &cases[i].test);
        assert_string_equal(buf_text(&out), cases[i].text);
        buf_free(&out);
    }
}

static void a_word_of_a_shell_keeps_its_quotes(void **state)
{
    struct buf out = { 0 };

    (void)state;
    param_test_add_word(&out, "name=\"it's\"");
    assert_string_equal(buf_text(&out), "'name=\"it'\\''s\"'");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_holds_for_configurations_with_that_value),
        cmocka_unit_test(a_test_is_written_as_people_write_it),
        cmocka_unit_test(a_word_of_a_shell_keeps_its_quotes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

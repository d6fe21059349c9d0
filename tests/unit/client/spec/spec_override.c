/* SPDX-License-Identifier: MIT */
/* spec_override.c - tests of what --minimal leaves of a plan */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/spec/spec.h"
#include "common/data/json.h"
#include "tests/unit/client_plan.h"

static void the_first_of_each_is_left_and_the_conditions(void **state)
{
    static const char text[] = "params:\n"
                               "  a: [1, 2]\n"
                               "  b: [x, y]\n"
                               "  u: {uniform: [0, 0.5]}\n"
                               "  l: {log_uniform: [1e-4, 1]}\n"
                               "  i: {int_uniform: [0, 9]}\n"
                               "  n: {normal: [3, 1]}\n"
                               "  c: {choice: [q, r]}\n"
                               "  f: fixed\n"
                               "method: random\n"
                               "samples: 100\n"
                               "seed: 3\n"
                               "zip: [[a, b]]\n"
                               "when: {u: {b: x}}\n"
                               "exclude: [{a: 1}]\n"
                               "include: [{f: other}]\n";
    static const char *const values[] = { "1", "x", "0.25", "0.01", "4", "3.0", "q", "fixed" };
    struct arena *a = arena_create();
    struct yaml_keys_reader r = { .file = "f", .arena = a };
    struct plan *p = plan_from(text, a);
    const struct param *params = p->params.items;

    (void)state;
    spec_take_first(p, a);
    for (size_t i = 0; i < p->params.n; i++) {
        struct buf value = { 0 };

        assert_int_equal(params[i].form, PARAM_FIXED);
        assert_int_equal(params[i].n, 1);
        json_add_text(&value, &params[i].values[0]);
        assert_string_equal(buf_text(&value), values[i]);
        buf_free(&value);
    }
    assert_int_equal(p->method, METHOD_GRID);
    assert_int_equal(p->samples, 0);
    assert_int_equal(p->zip.n + p->exclude.n + p->include.n, 0);
    assert_int_equal(p->when.n, 1);
    assert_int_equal(plan_check(p, &r), 0);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_each_is_left_and_the_conditions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

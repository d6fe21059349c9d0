/* SPDX-License-Identifier: MIT */
/* spec_when.c - tests of the order of conditions and of circles among them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/spec/spec_when.h"
#include "tests/unit/client_plan.h"

static void parameters_stand_behind_those_their_conditions_name(void **state)
{
    static const struct {
        const char *text;
        const char *order;
    } cases[] = {
        { "params: {a: 1, b: 2, c: 3}", "abc" },
        { "params: {a: 1, b: 2, c: 3}\nwhen: {c: {a: 1}}", "abc" },
        { "params: {a: 1, b: 2, c: 3}\nwhen: {a: {c: 1}}", "bca" },
        { "params: {a: 1, b: 2, c: 3, d: 4}\nwhen: {a: {c: 1}, b: {a: 1}}", "cabd" },
        { "params: {a: 1, b: 2, c: 3, d: 4}\nwhen: {a: {b: 1}, b: {c: 1}, c: {d: 1}}", "dcba" },
        { "params: {a: 1, b: 2, c: 3, d: 4}\nwhen: {b: {d: 1}, a: {d: 1, c: 1}}", "cdab" },
        { "params: {a: [1, 2], p: 1, c: 3, b: [3, 4]}\nzip: [[b, a]]\nwhen: {p: {b: 3}}", "abpc" },
        { "params: {p: 1, a: [1, 2], b: [3, 4]}\nzip: [[a, b]]\nwhen: {p: {b: 3}}", "abp" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        const struct plan *p = plan_from(cases[i].text, a);
        const struct param *params = p->params.items;
        char names[8] = "";
        size_t order[8];

        assert_int_equal(spec_when_order(p, order), p->params.n);
        for (size_t k = 0; k < p->params.n; k++)
            names[k] = params[order[k]].name[0];
        assert_string_equal(names, cases[i].order);
        arena_destroy(a);
    }
}

static void each_circle_is_told_once(void **state)
{
    static const char text[] = "params: {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}\n"
                               "when:\n"
                               "  f: {a: 1}\n"
                               "  a: {b: 1}\n"
                               "  b: {a: 1}\n"
                               "  c: {d: 1}\n"
                               "  d: {e: 1}\n"
                               "  e: {d: 1}\n";
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct plan p;
    size_t order[6];

    (void)state;
    assert_int_equal(plan_parse(text, a, &p, &e), -1);
    assert_string_equal(e.text, "f:4:3: when: a depends on b depends on a\n"
                                "f:7:3: when: d depends on e depends on d");
    assert_int_equal(spec_when_order(&p, order), 0);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_stand_behind_those_their_conditions_name),
        cmocka_unit_test(each_circle_is_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* plan_check.c - tests of what is refused when parameters and what combines them do not fit */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "client/spec/plan_check.h"
#include "tests/unit/client_plan.h"

#define PARAMS "params:\n  a: [1, 2]\n  b: [3, 4]\n  c: [5, 6, 7]\n  f: 8\n"

/* What stands below params:, which has five lines. */
static void every_mistake_is_told_at_its_place(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "method: 1\n", "f:6:9: method: expected grid, random or sobol, found '1'" },
        { "method: grit\n", "f:6:9: method: unknown method 'grit' (did you mean 'grid'?)" },
        { "method: annealing\n",
          "f:6:9: method: expected grid, random or sobol, found 'annealing'" },
        { "method: [grid]\n", "f:6:9: method: expected grid, random or sobol, found a list" },
        { "method: random\n", "f:6:9: method: random needs samples: N, how many" },
        { "method: sobol\nsamples: 0\n", "f:7:10: samples: expected at least 1" },
        { "samples: 5\n", "f:6:10: samples: needs method: random or sobol" },
        { "samples: 0\n", "f:6:10: samples: needs method: random or sobol" },
        { "seed: -1\n", "f:6:7: seed: expected no negative number, found '-1'" },
        { "method: sobol\nsamples: 4294967296\ninclude: [{a: 1}]\n",
          "f:7:10: samples: sobol has at most 2^32 points" },

        { "zip: a\n", "f:6:6: zip: expected a list of groups such as [[lr, hidden]], found 'a'" },
        { "zip: [a, b]\n",
          "f:6:7: zip: expected a list of groups such as [[lr, hidden]], found 'a'\n"
          "f:6:10: zip: expected a list of groups such as [[lr, hidden]], found 'b'" },
        { "zip: [[a]]\n", "f:6:7: zip: a group has at least two parameters" },
        { "zip: [[a, [b]]]\n", "f:6:11: zip: expected the name of a parameter, found a list" },
        { "zip: [[a, \"b\\0\"]]\n", "f:6:11: zip: a NUL character" },
        { "zip: [[a, d]]\n", "f:6:7: zip: unknown parameter 'd'" },
        { "zip: [[a, f]]\n", "f:6:7: zip: f has no list of values" },
        { "zip: [[a, c]]\n", "f:6:7: zip: a has 2 values, but c has 3" },
        { "zip: [[a, b], [a, c]]\n", "f:6:15: zip: a stands in two groups" },
        { "zip: [[a, b, a]]\n",
          "f:6:7: zip: a stands twice in a group\nf:6:7: zip: a stands twice in a group" },

        { "when: a\n", "f:6:7: when: expected 'name: {other: value}' lines, found text" },
        { "when: {a: 1}\n", "f:6:11: when: a: expected values of parameters such as {lr: 0.1}, "
                            "found a whole number" },
        { "when: {a: {}}\n",
          "f:6:11: when: a: expected values of parameters such as {lr: 0.1}, found an empty map" },
        { "when: {a: {b: []}}\n", "f:6:15: when: a: b: an empty list matches nothing" },
        { "when: {a: {b: {x: 1}}}\n",
          "f:6:15: when: a: b: a map as a value is written {value: {...}}" },
        { "when: {z: {b: 3}}\n", "f:6:8: when: unknown parameter 'z'" },
        { "when: {a: {zzzz: 3}}\n", "f:6:12: when: a: unknown parameter 'zzzz'" },
        { "when: {a: {a: 1}}\n", "f:6:8: when: a depends on itself" },
        { "when: {a: {b: 3}, b: {a: 1}}\n", "f:6:8: when: a depends on b depends on a" },
        { "when:\n  c: {a: 1}\n  f: {c: 5}\n  a: {b: 3}\n  b: {f: 1, c: 1}\n",
          "f:9:3: when: a depends on b depends on f depends on c depends on a" },
        { "zip: [[a, b]]\nwhen: {b: {c: 5}}\n",
          "f:7:8: when: b stands in a zip group, and so cannot have a condition" },

        { "exclude: {a: 1}\n",
          "f:6:10: exclude: expected a list such as [{lr: 0.1}], found a map" },
        { "exclude: [1]\n", "f:6:11: exclude: expected values of parameters such as {lr: 0.1}, "
                            "found a whole number" },
        { "exclude: [{a: 1}, {}]\n",
          "f:6:19: exclude: expected values of parameters such as {lr: 0.1}, found an empty map" },
        { "exclude: [{a: 1, fv: 2}]\n",
          "f:6:18: exclude: unknown parameter 'fv' (did you mean 'f'?)" },
        { "include: [{a: [1, 2]}]\n", "f:6:15: include: a: one value is expected here (one that "
                                      "is a list: {value: [...]})" },
        { "include: [{z: 1}]\n", "f:6:12: include: unknown parameter 'z'" },
        { "zip: [[a, b]]\ninclude: [{c: 9, a: 5}]\n",
          "f:7:18: include: a is zipped, and this is no value of its list: name b, too" },

        { "when: {c: {a: 1}}\ninclude: [{a: 1, c: 7}, {a: 9, c: 7}, {c: 7}]\n",
          "f:7:32: include: with the other values here, when: leaves c out" },
        { "when: {c: {a: 1}, f: {c: 7}}\ninclude: [{a: 9, f: 7}]\n",
          "f:7:18: include: with the other values here, when: leaves f out" },
        { "zip: [[a, b]]\nwhen: {c: {a: 1}}\ninclude: [{b: 4, c: 7}]\n",
          "f:8:18: include: with the other values here, when: leaves c out" },

        { "zip: [[a, x]]\nwhen: {y: {a: 1}}\nexclude: [{z: 1}]\nsamples: 4\n",
          "f:9:10: samples: needs method: random or sobol\n"
          "f:6:7: zip: unknown parameter 'x'\n"
          "f:7:8: when: unknown parameter 'y'\n"
          "f:8:12: exclude: unknown parameter 'z'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        struct plan p;

        if (plan_parse(arena_printf(a, "%s%s", PARAMS, cases[i].text), a, &p, &e) == 0 ||
            strcmp(e.text, cases[i].error) != 0)
            fail_msg("%s\nsaid:     %s\nexpected: %s", cases[i].text, e.text, cases[i].error);
        assert_int_equal(e.kind, ERR_USAGE);
        arena_destroy(a);
    }
}

static void a_grid_refuses_what_must_be_drawn(void **state)
{
    static const char text[] = "params:\n"
                               "  a: {uniform: [0, 1]}\n"
                               "  b: {log_uniform: [1, 2]}\n"
                               "  c: {int_uniform: [0, 1]}\n"
                               "  d: {normal: [0, 1]}\n"
                               "  e: {choice: [0, 1]}\n"
                               "  f: {log_int: [1, 2]}\n";
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct plan p;

    (void)state;
    assert_int_equal(plan_parse(text, a, &p, &e), -1);
    assert_string_equal(e.text, "f:2:3: a: uniform needs method: random or sobol\n"
                                "f:3:3: b: log_uniform needs method: random or sobol\n"
                                "f:4:3: c: int_uniform needs method: random or sobol\n"
                                "f:5:3: d: normal needs method: random or sobol\n"
                                "f:6:3: e: choice needs method: random or sobol\n"
                                "f:7:3: f: log_int needs method: random or sobol");
    arena_destroy(a);
}

static void what_set_made_wrong_is_told_as_such(void **state)
{
    struct arena *a = arena_create();
    struct plan *p = plan_from("params:\n  lr: [1, 2]\n  b: [3, 4]\nzip: [[lr, b]]\n", a);
    struct yaml_keys_reader r = { .file = "f", .arena = a };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(params_set(&p->params, "lr={uniform: [0, 1]}", a, &e), 0);
    assert_int_equal(plan_check(p, &r), -1);
    assert_int_equal(yaml_keys_end(&r, &e), -1);
    assert_string_equal(e.text, "--set lr: uniform needs method: random or sobol\n"
                                "f:4:7: zip: lr has no list of values");
    assert_int_equal(params_set(&p->params, "lr=[5, 6]", a, &e), 0);
    assert_int_equal(plan_check(p, &r), 0);
    assert_int_equal(params_set(&p->params, "lr=[5, 6, 7]", a, &e), 0);
    assert_int_equal(plan_check(p, &r), -1);
    yaml_keys_end(&r, &e);
    assert_string_equal(e.text, "f:4:7: zip: lr has 3 values, but b has 2");
    arena_destroy(a);
}

static char *swept_text(int n, const char *tail)
{
    struct buf text = { 0 };

    buf_add_str(&text, "params:\n");
    for (int i = 0; i < n; i++)
        buf_printf(&text, "  p%d: [1, 2]\n", i);
    buf_printf(&text, "  fixed: 1\nmethod: sobol\nsamples: 1\n%s", tail);
    return buf_take(&text);
}

static void sobol_has_no_more_dimensions_than_its_table(void **state)
{
    struct arena *a = arena_create();
    char *texts[] = { swept_text(256, ""), swept_text(257, "zip: [[p0, p256]]\n"),
                      swept_text(257, "") };
    struct err e = { 0 };
    struct plan p;

    (void)state;
    assert_int_equal(plan_parse(texts[0], a, &p, &e), 0);
    assert_int_equal(plan_parse(texts[1], a, &p, &e), 0);
    assert_int_equal(plan_parse(texts[2], a, &p, &e), -1);
    assert_string_equal(e.text,
                        "f:260:9: method: sobol samples at most 256 parameters, and here are 257");
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_told_at_its_place),
        cmocka_unit_test(a_grid_refuses_what_must_be_drawn),
        cmocka_unit_test(what_set_made_wrong_is_told_as_such),
        cmocka_unit_test(sobol_has_no_more_dimensions_than_its_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

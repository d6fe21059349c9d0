/* SPDX-License-Identifier: MIT */
/* importance.c - tests of which parameters decide whether a configuration is among the best */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/importance/importance.h"
#include "common/data/json.h"

static void add(struct aggregate *g, size_t i, const char *params, double value)
{
    struct metric m = {
        .name = "score", .value = value, .step = SCHEMA_NONE, .min = value, .max = value, .n = 1
    };
    char *name = arena_printf(g->arena, "param_%05zu", i);
    struct job_result r = { .job = "1.1", .param_name = name, .state = JOB_DONE };

    r.metrics = (struct list){ &m, 1 };
    assert_int_equal(json_read(params, strlen(params), g->arena, &r.params, NULL), 0);
    aggregate_add(g, &r);
}

/* The same numbers each time. */
static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double importance_in(const struct importance *of, const char *param)
{
    const struct param_importance *params = of->importance.items;

    for (size_t i = 0; i < of->importance.n; i++)
        if (strcmp(params[i].param, param) == 0)
            return params[i].importance;
    return (double)NAN;
}

static void find(struct importance *out, struct aggregate *g)
{
    struct err e = { 0 };

    aggregate_finish(g);
    if (importance_of(out, g, 0, g->arena, &e) < 0)
        fail_msg("%s", e.text);
}

static void what_decides_is_important_and_what_does_not_is_not(void **state)
{
    struct importance found;
    struct aggregate g;
    uint64_t random = 1;
    double sum = 0;

    (void)state;
    aggregate_init(&g);
    for (size_t i = 0; i < 300; i++) {
        double x = next(&random), y = next(&random);

        add(&g, i, arena_printf(g.arena, "{\"x\": %.17g, \"y\": %.17g, \"same\": 1}", x, y),
            -(x - 0.3) * (x - 0.3));
    }
    find(&found, &g);
    assert_int_equal(found.configs, 300);
    assert_int_equal(found.top, 30);
    assert_int_equal(found.importance.n, 2); /* of those that differ */
    assert_true(importance_in(&found, "x") > 0.9);
    for (size_t i = 0; i < found.importance.n; i++)
        sum += ((const struct param_importance *)found.importance.items)[i].importance;
    assert_true(fabs(sum - 1) < 1e-12);
    assert_true(found.has_pairs);
    assert_int_equal(found.pairs.n, 0);
    aggregate_free(&g);
}

static void what_only_a_pair_decides_is_found(void **state)
{
    const struct pair_importance *pairs;
    struct importance found;
    struct aggregate g;
    uint64_t random = 7;

    (void)state;
    aggregate_init(&g);
    for (size_t i = 0; i < 400; i++) {
        double x = next(&random), z = next(&random);
        bool is_on = next(&random) < 0.5;

        add(&g, i,
            arena_printf(g.arena, "{\"x\": %.17g, \"on\": %s, \"z\": %.17g}", x,
                         is_on ? "true" : "false", z),
            is_on == (x > 0.5) ? 1 + next(&random) : next(&random));
    }
    find(&found, &g);
    assert_int_equal(found.pairs.n, 1);
    pairs = found.pairs.items;
    assert_string_equal(((const char *const *)pairs[0].params.items)[0], "x");
    assert_string_equal(((const char *const *)pairs[0].params.items)[1], "on");
    assert_true(pairs[0].importance > 1); /* more than what they do alone */
    aggregate_free(&g);
}

/* A small loss is good, a mean that is nan is bad, and ties at the limit are all among the best. */
static void the_best_are_those_of_the_goal(void **state)
{
    struct importance found;
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    aggregate_set_goal(&g, "score", GOAL_MIN);
    for (size_t i = 0; i < 12; i++)
        add(&g, i,
            arena_printf(g.arena, "{\"good\": %s, \"i\": %zu}", i < 6 ? "true" : "false", i % 3),
            i < 6   ? 0.1
            : i < 9 ? 3
                    : (double)NAN);
    find(&found, &g);
    assert_int_equal(found.goal, GOAL_MIN);
    assert_int_equal(found.configs, 12);
    assert_int_equal(found.top, 6);
    assert_string_equal(((const struct param_importance *)found.importance.items)[0].param, "good");
    assert_true(importance_in(&found, "good") > 0.99);
    aggregate_free(&g);
}

static void a_parameter_with_a_condition_is_compared_among_those_that_have_it(void **state)
{
    struct importance found;
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    for (size_t i = 0; i < 40; i++)
        add(&g, i,
            arena_printf(g.arena,
                         i % 2 == 0 ? "{\"opt\": \"sgd\", \"momentum\": %zu, \"path\": \"p%zu\"}"
                                    : "{\"opt\": \"adam\", \"unused\": %zu, \"path\": \"p%zu\"}",
                         i % 4, i),
            i % 4 == 2 ? 1 : (double)i / 100);
    find(&found, &g);
    assert_true(importance_in(&found, "momentum") > importance_in(&found, "unused"));
    /* Every configuration has a path of its own. */
    assert_true(isnan(importance_in(&found, "path")));
    assert_int_equal(found.left_out.n, 1);
    assert_string_equal(*(const char *const *)found.left_out.items, "path");
    aggregate_free(&g);
}

static void too_few_or_equal_configurations_are_refused(void **state)
{
    struct importance found;
    struct err e = { 0 };
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    for (size_t i = 0; i < 3; i++)
        add(&g, i, arena_printf(g.arena, "{\"x\": %zu}", i), (double)i);
    aggregate_finish(&g);
    assert_int_equal(importance_of(&found, &g, 0, g.arena, &e), -1);
    assert_string_equal(e.text, "importance takes at least 4 configurations that are done and have "
                                "reported score; there are 3");
    aggregate_free(&g);
    aggregate_init(&g);
    for (size_t i = 0; i < 8; i++)
        add(&g, i, arena_printf(g.arena, "{\"x\": %zu}", i), 1);
    aggregate_finish(&g);
    assert_int_equal(importance_of(&found, &g, 0, g.arena, &e), -1);
    assert_string_equal(
        e.text, "no parameter tells the best of 8 configurations, by score, from the others");
    aggregate_free(&g);
}

static void people_see_bars_no_wider_than_the_terminal(void **state)
{
    struct param_importance params[] = { { "lr", 0.75, 12 }, { "momentum\033[2J", 0.25, 12 } };
    const char *names[] = { "lr", "momentum" };
    struct pair_importance pair = { { names, 2 }, 0.5 };
    struct importance of = { .metric = "accuracy", .configs = 12, .top = 5, .has_pairs = true };
    struct buf out = { 0 };

    (void)state;
    of.importance = (struct list){ params, 2 };
    of.pairs = (struct list){ &pair, 1 };
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    importance_add_text(&out, &of, 40, false);
    assert_non_null(strstr(buf_text(&out), "lr "));
    assert_non_null(strstr(buf_text(&out), "lr x momentum"));
    assert_null(strchr(buf_text(&out), '\033'));
    for (const char *line = buf_text(&out); *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, "what ", 5) == 0)
            break;
        assert_true(strcspn(line, "\n") <= 40);
    }
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_decides_is_important_and_what_does_not_is_not),
        cmocka_unit_test(what_only_a_pair_decides_is_found),
        cmocka_unit_test(the_best_are_those_of_the_goal),
        cmocka_unit_test(a_parameter_with_a_condition_is_compared_among_those_that_have_it),
        cmocka_unit_test(too_few_or_equal_configurations_are_refused),
        cmocka_unit_test(people_see_bars_no_wider_than_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

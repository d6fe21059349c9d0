/* SPDX-License-Identifier: MIT */
/* client_aggregate.c - tests of what the replications have in common */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/aggregate.h"
#include "common/json.h"

static void add(struct aggregate *g, const char *name, const char *params, int state,
                const char *metric, double value)
{
    struct arena *a = arena_create();
    struct metric m = { .name = metric, .value = value, .step = SCHEMA_NONE };
    struct job_result r = { .job = "1.1", .param_name = name, .state = state };

    if (metric != NULL)
        r.metrics = (struct list){ &m, 1 };
    assert_int_equal(json_read(params, strlen(params), a, &r.params, NULL), 0);
    aggregate_add(g, &r);
    arena_destroy(a);
}

static void statistics_are_those_of_a_sample(void **state)
{
    static const struct {
        double values[5];
        int n;
        double mean, std, min, max;
    } cases[] = {
        { { 2, 4, 4, 4, 6 }, 5, 4, 1.4142135623730951, 2, 6 },
        { { 1, 2 }, 2, 1.5, 0.70710678118654757, 1, 2 },
        { { -3 }, 1, -3, (double)NAN, -3, -3 },
        { { 1e9 + 1, 1e9 + 2, 1e9 + 3 }, 3, 1e9 + 2, 1, 1e9 + 1, 1e9 + 3 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stats s = { 0 };

        for (int k = 0; k < cases[i].n; k++)
            stats_add(&s, cases[i].values[k]);
        assert_int_equal(s.n, cases[i].n);
        assert_true(fabs(s.mean - cases[i].mean) < 1e-9 * fabs(cases[i].mean) + 1e-12);
        assert_true(s.min == cases[i].min && s.max == cases[i].max);
        if (isnan(cases[i].std))
            assert_true(isnan(stats_std(&s)));
        else
            assert_true(fabs(stats_std(&s) - cases[i].std) < 1e-9);
    }
}

static void replications_meet_in_their_configuration(void **state)
{
    const struct stats *s;
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add(&g, "param_001", "{\"lr\":1}", JOB_DONE, "acc", 0.5);
    add(&g, "param_002", "{\"lr\":2}", JOB_DONE, "acc", 0.9);
    add(&g, "param_001", "{\"lr\":1}", JOB_DONE, "acc", 0.7);
    add(&g, "param_001", "{\"lr\":1}", JOB_FAILED, "acc", 0.0);
    add(&g, "param_003", "{\"lr\":3}", JOB_QUEUED, NULL, 0);
    add(&g, "param_002", "{\"lr\":2}", JOB_DONE, "loss", 3);
    assert_int_equal(g.n, 3);
    assert_int_equal(g.n_metrics, 2);
    assert_string_equal(g.configs[0].param_name, "param_001");
    assert_int_equal(g.configs[0].n_jobs, 2);
    s = aggregate_stats(&g.configs[0], 0);
    assert_int_equal(s->n, 2);
    assert_true(fabs(s->mean - 0.6) < 1e-12);
    assert_null(aggregate_stats(&g.configs[0], 1));
    assert_int_equal(g.configs[1].n_jobs, 2);
    assert_int_equal(aggregate_stats(&g.configs[1], 1)->n, 1);
    assert_int_equal(g.configs[2].n_jobs, 0);
    assert_null(aggregate_stats(&g.configs[2], 0));
    aggregate_free(&g);
}

static void many_configurations_are_kept_apart(void **state)
{
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    for (int rep = 0; rep < 2; rep++)
        for (int i = 0; i < 2000; i++) {
            char name[32], params[32];

            snprintf(name, sizeof name, "param_%03d", i);
            snprintf(params, sizeof params, "{\"x\":%d}", i);
            add(&g, name, params, JOB_DONE, "m", i);
        }
    assert_int_equal(g.n, 2000);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(g.configs[i].n_jobs, 2);
        assert_true(aggregate_stats(&g.configs[i], 0)->mean == i);
    }
    aggregate_free(&g);
}

static void only_parameters_that_vary_are_columns(void **state)
{
    struct list varying;
    const char *const *names;
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add(&g, "p1", "{\"same\":1,\"lr\":1,\"deep\":[1,2]}", JOB_DONE, NULL, 0);
    add(&g, "p2", "{\"same\":1,\"lr\":2,\"deep\":[1,2]}", JOB_DONE, NULL, 0);
    add(&g, "p3", "{\"same\":1,\"lr\":2,\"deep\":[1,2],\"extra\":true}", JOB_DONE, NULL, 0);
    varying = aggregate_varying(&g);
    names = varying.items;
    assert_int_equal(varying.n, 2);
    assert_string_equal(names[0], "lr");
    assert_string_equal(names[1], "extra");
    aggregate_free(&g);
    aggregate_init(&g);
    add(&g, "p1", "{\"a\":1}", JOB_DONE, NULL, 0);
    assert_int_equal(aggregate_varying(&g).n, 0);
    aggregate_free(&g);
}

static void the_goal_follows_from_the_name(void **state)
{
    static const struct {
        const char *metric;
        enum goal goal;
    } cases[] = {
        { "accuracy", GOAL_MAX },   { "f1", GOAL_MAX },
        { "val_loss", GOAL_MIN },   { "Loss", GOAL_MIN },
        { "perplexity", GOAL_MIN }, { "test_error", GOAL_MIN },
        { "RMSE", GOAL_MIN },       { "bits_per_character", GOAL_MIN },
        { "reward", GOAL_MAX },     { "train_time", GOAL_MIN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(goal_of(cases[i].metric), cases[i].goal);
}

static void the_metric_that_counts_is_the_only_one_or_a_usual_one(void **state)
{
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add(&g, "p1", "{}", JOB_DONE, NULL, 0);
    assert_int_equal(aggregate_main_metric(&g), -1);
    add(&g, "p1", "{}", JOB_DONE, "reward", 1);
    assert_int_equal(aggregate_main_metric(&g), 0);
    add(&g, "p1", "{}", JOB_DONE, "other", 1);
    assert_int_equal(aggregate_main_metric(&g), -1);
    add(&g, "p1", "{}", JOB_DONE, "loss", 1);
    assert_int_equal(aggregate_main_metric(&g), 2);
    add(&g, "p1", "{}", JOB_DONE, "accuracy", 1);
    assert_int_equal(aggregate_main_metric(&g), 3);
    aggregate_free(&g);
}

static void the_best_is_found_and_sorting_puts_it_first(void **state)
{
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    assert_int_equal(aggregate_best(&g, 0, GOAL_MAX), -1);
    add(&g, "none", "{\"x\":0}", JOB_QUEUED, NULL, 0);
    add(&g, "nan", "{\"x\":1}", JOB_DONE, "loss", (double)NAN);
    add(&g, "high", "{\"x\":2}", JOB_DONE, "loss", 3);
    add(&g, "low", "{\"x\":3}", JOB_DONE, "loss", 1);
    add(&g, "low too", "{\"x\":4}", JOB_DONE, "loss", 1);
    assert_int_equal(aggregate_best(&g, 0, GOAL_MAX), 2);
    assert_int_equal(aggregate_best(&g, 0, GOAL_MIN), 3);
    aggregate_sort(&g, 0, GOAL_MIN);
    assert_string_equal(g.configs[0].param_name, "low");
    assert_string_equal(g.configs[1].param_name, "low too");
    assert_string_equal(g.configs[2].param_name, "high");
    assert_string_equal(g.configs[3].param_name, "none");
    assert_string_equal(g.configs[4].param_name, "nan");
    add(&g, "high", "{\"x\":2}", JOB_DONE, "loss", 5);
    assert_int_equal(g.n, 5);
    assert_int_equal(g.configs[2].n_jobs, 2);
    aggregate_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_those_of_a_sample),
        cmocka_unit_test(replications_meet_in_their_configuration),
        cmocka_unit_test(many_configurations_are_kept_apart),
        cmocka_unit_test(only_parameters_that_vary_are_columns),
        cmocka_unit_test(the_goal_follows_from_the_name),
        cmocka_unit_test(the_metric_that_counts_is_the_only_one_or_a_usual_one),
        cmocka_unit_test(the_best_is_found_and_sorting_puts_it_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

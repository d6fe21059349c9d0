/* SPDX-License-Identifier: MIT */
/* aggregate.c - tests of what the replications have in common */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/results/aggregate.h"
#include "client/results/results_out.h"
#include "client/term/safe_text.h"
#include "common/data/json.h"

#define NONE ((double)NAN)

static void add_result(struct aggregate *g, const char *name, const char *params, int state,
                       const struct metric *metrics, size_t n)
{
    struct arena *a = arena_create();
    struct job_result r = { .job = "1.1", .param_name = name, .state = state };

    r.metrics = (struct list){ (void *)(uintptr_t)metrics, n };
    assert_int_equal(json_read(params, strlen(params), a, &r.params, NULL), 0);
    aggregate_add(g, &r);
    arena_destroy(a);
}

/* A job that reported its only value. */
static void add(struct aggregate *g, const char *name, const char *params, int state,
                const char *metric, double value)
{
    struct metric m = {
        .name = metric, .value = value, .step = SCHEMA_NONE, .min = value, .max = value, .n = 1
    };

    add_result(g, name, params, state, &m, metric != NULL);
}

static void add_range(struct aggregate *g, const char *metric, double last, double min, double max)
{
    struct metric m = {
        .name = metric, .value = last, .step = SCHEMA_NONE, .min = min, .max = max, .n = 5
    };

    add_result(g, "p1", "{}", JOB_DONE, &m, 1);
}

static void add_failed(struct aggregate *g, const char *name, const char *reason)
{
    struct job_result r = {
        .job = "1.1", .param_name = name, .state = JOB_FAILED, .reason = reason
    };

    aggregate_add(g, &r);
}

static void assert_number(double got, double wanted)
{
    if (isnan(wanted))
        assert_true(isnan(got));
    else
        assert_true(fabs(got - wanted) < 1e-9 * fabs(wanted) + 1e-12);
}

/* The wanted numbers are numpy's: mean, std(ddof=1), quantile. */
static void statistics_are_those_of_numpy(void **state)
{
    static const struct {
        double values[6];
        size_t n;
        double mean, std, min, q1, median, q3, max;
    } cases[] = {
        { { 2, 4, 4, 4, 6 }, 5, 4, 1.4142135623730951, 2, 4, 4, 4, 6 },
        { { 2, 1 }, 2, 1.5, 0.70710678118654757, 1, 1.25, 1.5, 1.75, 2 },
        { { 7, 1, 3, 9, 5, 4 }, 6, 29. / 6, 2.857738033247041, 1, 3.25, 4.5, 6.5, 9 },
        { { 3, 1, 2, 10 }, 4, 4, 4.08248290463863, 1, 1.75, 2.5, 4.75, 10 },
        { { -3 }, 1, -3, NONE, -3, -3, -3, -3, -3 },
        { { 1e9 + 1, 1e9 + 2, 1e9 + 3 },
          3,
          1e9 + 2,
          1,
          1e9 + 1,
          1e9 + 1.5,
          1e9 + 2,
          1e9 + 2.5,
          1e9 + 3 },
        { { 0 }, 0, NONE, NONE, NONE, NONE, NONE, NONE, NONE },
        { { 1, NONE, 2 }, 3, NONE, NONE, NONE, NONE, NONE, NONE, NONE },
        { { 1, (double)INFINITY }, 2, NONE, NONE, NONE, NONE, NONE, NONE, NONE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double values[6];
        struct stats s;

        memcpy(values, cases[i].values, sizeof values);
        stats_of(&s, values, cases[i].n);
        assert_int_equal(s.n, cases[i].n);
        assert_number(s.mean, cases[i].mean);
        assert_number(s.std, cases[i].std);
        assert_number(s.min, cases[i].min);
        assert_number(s.q1, cases[i].q1);
        assert_number(s.median, cases[i].median);
        assert_number(s.q3, cases[i].q3);
        assert_number(s.max, cases[i].max);
    }
}

static void replications_meet_in_their_configuration(void **state)
{
    const struct measure *m;
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add(&g, "param_001", "{\"lr\":1}", JOB_DONE, "acc", 0.5);
    add(&g, "param_002", "{\"lr\":2}", JOB_DONE, "acc", 0.9);
    add(&g, "param_001", "{\"lr\":1}", JOB_DONE, "acc", 0.7);
    add(&g, "param_001", "{\"lr\":1}", JOB_FAILED, "acc", 0.0);
    add(&g, "param_003", "{\"lr\":3}", JOB_QUEUED, NULL, 0);
    add(&g, "param_002", "{\"lr\":2}", JOB_DONE, "loss", 3);
    aggregate_finish(&g);
    assert_int_equal(g.n, 3);
    assert_int_equal(g.n_metrics, 2);
    assert_string_equal(g.configs[0].param_name, "param_001");
    assert_int_equal(g.configs[0].n_done, 2);
    m = aggregate_measure(&g.configs[0], 0);
    assert_int_equal(m->last.n, 2);
    assert_number(m->last.mean, 0.6);
    assert_null(aggregate_measure(&g.configs[0], 1));
    assert_int_equal(g.configs[1].n_done, 2);
    assert_int_equal(aggregate_measure(&g.configs[1], 1)->last.n, 1);
    assert_int_equal(g.configs[2].n_done, 0);
    assert_null(aggregate_measure(&g.configs[2], 0));
    aggregate_free(&g);
}

static void what_jobs_took_is_the_most_and_the_mean(void **state)
{
    const struct list by = { 0 };
    struct job_result r = {
        .job = "1.1", .state = JOB_DONE, .max_rss_bytes = SCHEMA_NONE, .cpu_seconds = (double)NAN
    };
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    r.param_name = "param_001";
    aggregate_add(&g, &r);
    r.param_name = "param_002";
    aggregate_add(&g, &r);
    r.max_rss_bytes = 100;
    r.cpu_seconds = 2;
    aggregate_add(&g, &r);
    r.max_rss_bytes = 50;
    r.cpu_seconds = 4;
    aggregate_add(&g, &r);
    assert_true(g.configs[0].max_rss_bytes == SCHEMA_NONE);
    assert_true(isnan(g.configs[0].cpu_seconds));
    assert_int_equal(g.configs[1].max_rss_bytes, 100);
    assert_true(g.configs[1].cpu_seconds == 3);
    r.param_name = "param_003";
    r.cpu_seconds = 9;
    aggregate_add(&g, &r);
    aggregate_group(&g, &by);
    assert_int_equal(g.n, 1);
    assert_int_equal(g.configs[0].max_rss_bytes, 100);
    assert_true(g.configs[0].cpu_seconds == 5);
    aggregate_free(&g);
}

static void jobs_that_are_not_done_are_counted_with_the_first_reason(void **state)
{
    const struct config_result *c;
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add(&g, "p1", "{}", JOB_DONE, NULL, 0);
    add_failed(&g, "p1", NULL);
    add_failed(&g, "p1", "exit code 3");
    add_failed(&g, "p1", "signal 9");
    add(&g, "p1", "{}", JOB_CANCELLED, NULL, 0);
    add(&g, "p1", "{}", JOB_QUEUED, NULL, 0);
    add(&g, "p1", "{}", JOB_RUNNING, NULL, 0);
    add(&g, "p1", "{}", JOB_PUBLISHING, NULL, 0);
    c = &g.configs[0];
    assert_int_equal(c->n_done, 1);
    assert_int_equal(c->counts.failed, 3);
    assert_int_equal(c->counts.cancelled, 1);
    assert_int_equal(c->n_left, 3);
    assert_string_equal(c->reason, "exit code 3");
    aggregate_free(&g);
}

/* Of each job the best by the goal, and over the jobs the statistics of these. */
static void the_best_value_of_each_job_follows_the_goal(void **state)
{
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add_range(&g, "accuracy", 0.5, 0.1, 0.9);
    add_range(&g, "accuracy", 0.6, 0.2, 0.7);
    add_range(&g, "loss", 2, 1, 4);
    add_range(&g, "loss", 3, 2, 8);
    add_range(&g, "reward", 5, 3, 6);
    aggregate_set_goal(&g, "reward", GOAL_MIN);
    aggregate_finish(&g);
    assert_number(aggregate_measure(&g.configs[0], 0)->last.mean, 0.55);
    assert_number(aggregate_measure(&g.configs[0], 0)->best.mean, 0.8);
    assert_number(aggregate_measure(&g.configs[0], 1)->last.mean, 2.5);
    assert_number(aggregate_measure(&g.configs[0], 1)->best.mean, 1.5);
    assert_number(aggregate_measure(&g.configs[0], 2)->best.mean, 3);
    aggregate_free(&g);
}

static void without_a_range_the_last_value_is_the_best_one(void **state)
{
    struct metric none = { "accuracy", 0.5, SCHEMA_NONE, NONE, NONE, 4 };
    struct metric old = { "accuracy", 0.7, SCHEMA_NONE, 0, 0, 0 };
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add_result(&g, "p1", "{}", JOB_DONE, &none, 1);
    add_result(&g, "p1", "{}", JOB_DONE, &old, 1);
    aggregate_finish(&g);
    assert_number(aggregate_measure(&g.configs[0], 0)->best.min, 0.5);
    assert_number(aggregate_measure(&g.configs[0], 0)->best.max, 0.7);
    aggregate_free(&g);
}

static void a_last_value_that_is_no_number_is_counted_and_leaves_no_mean(void **state)
{
    struct aggregate g;
    const struct measure *m;

    (void)state;
    aggregate_init(&g);
    add_range(&g, "accuracy", 0.5, 0.1, 0.9);
    add_range(&g, "accuracy", NONE, 0.1, 0.7);
    add_range(&g, "accuracy", (double)INFINITY, 0.1, 0.5);
    aggregate_finish(&g);
    m = aggregate_measure(&g.configs[0], 0);
    assert_true(m->n_nan == 2 && g.configs[0].n_nan == 2 && m->last.n == 3);
    assert_number(m->last.mean, NONE);
    assert_number(m->best.mean, 0.7);
    assert_int_equal(aggregate_best(&g, 0), -1);
    aggregate_free(&g);
}

static void the_jobs_of_a_configuration_are_known(void **state)
{
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add(&g, "p1", "{}", JOB_DONE, NULL, 0);
    add_failed(&g, "p1", NULL);
    assert_int_equal(g.configs[0].n_jobs, 2);
    assert_string_equal(g.configs[0].jobs[0].job, "1.1");
    assert_true(g.configs[0].jobs[0].done && !g.configs[0].jobs[1].done);
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
    aggregate_finish(&g);
    assert_int_equal(g.n, 2000);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(g.configs[i].n_done, 2);
        assert_true(aggregate_measure(&g.configs[i], 0)->last.mean == i);
    }
    aggregate_sort(&g, 0);
    assert_string_equal(g.configs[0].param_name, "param_1999");
    assert_string_equal(g.configs[1999 - 1234].param_name, "param_1234");
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

static void what_is_left_out_is_gone(void **state)
{
    static const bool keep[] = { true, false, true };
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    add(&g, "p1", "{}", JOB_DONE, "m", 1);
    add(&g, "p2", "{}", JOB_DONE, "m", 2);
    add(&g, "p3", "{}", JOB_DONE, "m", 3);
    add(&g, "p3", "{}", JOB_DONE, "m", 5);
    aggregate_keep(&g, keep);
    aggregate_finish(&g);
    assert_int_equal(g.n, 2);
    assert_string_equal(g.configs[1].param_name, "p3");
    assert_number(aggregate_measure(&g.configs[1], 0)->last.mean, 4);
    aggregate_free(&g);
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
    assert_int_equal(aggregate_find_metric(&g, "loss"), -1);
    add(&g, "none", "{\"x\":0}", JOB_QUEUED, NULL, 0);
    add(&g, "nan", "{\"x\":1}", JOB_DONE, "loss", NONE);
    add(&g, "high", "{\"x\":2}", JOB_DONE, "loss", 3);
    add(&g, "low", "{\"x\":3}", JOB_DONE, "loss", 1);
    add(&g, "low too", "{\"x\":4}", JOB_DONE, "loss", 1);
    aggregate_finish(&g);
    assert_int_equal(aggregate_find_metric(&g, "loss"), 0);
    assert_int_equal(aggregate_best(&g, 0), 3);
    aggregate_set_goal(&g, "loss", GOAL_MAX);
    assert_int_equal(aggregate_best(&g, 0), 2);
    aggregate_set_goal(&g, "another", GOAL_MAX);
    aggregate_sort(&g, 0);
    assert_string_equal(g.configs[0].param_name, "low");
    assert_string_equal(g.configs[1].param_name, "low too");
    assert_string_equal(g.configs[2].param_name, "high");
    assert_string_equal(g.configs[3].param_name, "none");
    assert_string_equal(g.configs[4].param_name, "nan");
    assert_int_equal(g.n, 5);
    aggregate_free(&g);
}

/* ---- the table ---- */

/* Of the table, without what is said of it in brackets. */
static size_t longest_line(const char *text)
{
    size_t longest = 0;

    for (; *text != '(' && *text != '\0'; text += strcspn(text, "\n") + 1) {
        size_t width = safe_text_width(text, strcspn(text, "\n"));

        longest = width > longest ? width : longest;
    }
    return longest;
}

/* Twelve measures of two configurations, one of which failed once. */
static void fill(struct aggregate *g)
{
    for (int rep = 0; rep < 3; rep++)
        for (int i = 0; i < 12; i++) {
            char name[32];

            snprintf(name, sizeof name, "measure_%02d", i);
            add(g, "param_001", "{\"lr\":0.1}", i == 0 ? JOB_DONE : JOB_QUEUED, name, 0.5 + rep);
            add(g, "param_002", "{\"lr\":0.2}", JOB_DONE, name, 0.25 * rep + i);
        }
    add_failed(g, "param_001", "out of memory");
    aggregate_finish(g);
}

static void a_narrow_terminal_shows_as_many_measures_as_fit(void **state)
{
    static const size_t widths[] = { 60, 80, 120, 200 };
    struct results_view v = { .n_metrics = 12, .ranked_by = 0, .best = 1, .n = 2 };
    size_t metrics[12], shown_before = 0;
    struct aggregate g;

    (void)state;
    aggregate_init(&g);
    fill(&g);
    for (size_t i = 0; i < 12; i++)
        metrics[i] = i;
    v.aggregate = &g;
    v.metrics = metrics;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct buf out = { 0 };
        size_t shown = 0;

        v.varying = aggregate_varying(&g);
        results_add_table(&out, &v, widths[i], false);
        assert_in_range(longest_line(buf_text(&out)), 20, widths[i]);
        for (const char *at = buf_text(&out); (at = strstr(at, "measure_")) != NULL; at++)
            shown++;
        assert_true(shown >= shown_before && shown >= 1);
        assert_non_null(strstr(buf_text(&out), "measure_00"));
        if (shown < 12)
            assert_non_null(strstr(buf_text(&out), "more measures do not fit"));
        shown_before = shown;
        buf_free(&out);
    }
    assert_in_range(shown_before, 4, 12);
    aggregate_free(&g);
}

/* Two configurations of six parameters with long values. */
static void fill_params(struct aggregate *g)
{
    for (int i = 0; i < 2; i++) {
        char params[512];

        snprintf(params, sizeof params,
                 "{\"learning_rate\":7.98831234567%de-05,\"weight_decay\":1.23456789%de-11,"
                 "\"momentum\":0.12345678901%d,\"dropout_rate\":0.98765432109%d,"
                 "\"warmup\":1234567%d,\"optimizer\":\"a very long name of one %d\"}",
                 i, i, i, i, i, i);
        add(g, i == 0 ? "param_001" : "param_002", params, JOB_DONE, "accuracy", i);
        add(g, i == 0 ? "param_001" : "param_002", params, JOB_DONE, "accuracy", i + 1);
    }
    aggregate_finish(g);
}

static void a_terminal_shows_whole_numbers_of_six_digits_and_no_more_than_fits(void **state)
{
    static const struct {
        size_t width;
        bool in_detail;
        const char *has, *lacks;
    } cases[] = {
        { 200, false, "  7.98831e-05  ", "do not fit" },
        { 200, true, " .. ", "do not fit" },
        { 120, true, "(quartiles do not fit; --csv prints all)", " .. " },
        { 60, false, "more parameters do not fit; --csv prints all)", "…e" },
        { 40, true, "(6 more parameters, median and quartiles do not fit", "learning" },
        { SIZE_MAX, false, "7.988312345671e-05", "do not fit" },
    };
    size_t metric = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct results_view v = {
            .n_metrics = 1, .metrics = &metric, .ranked_by = 0, .best = 1, .n = 2
        };
        struct aggregate g;
        struct buf out = { 0 };

        aggregate_init(&g);
        fill_params(&g);
        v.aggregate = &g;
        v.in_detail = cases[i].in_detail;
        v.varying = aggregate_varying(&g);
        results_add_table(&out, &v, cases[i].width, false);
        if (strstr(buf_text(&out), cases[i].has) == NULL ||
            strstr(buf_text(&out), cases[i].lacks) != NULL ||
            longest_line(buf_text(&out)) > cases[i].width)
            fail_msg("case %zu:\n%s", i, buf_text(&out));
        buf_free(&out);
        aggregate_free(&g);
    }
}

static void a_row_says_what_became_of_the_other_jobs(void **state)
{
    struct results_view v = { .n_metrics = 1, .ranked_by = 0, .best = 1, .n = 2 };
    size_t metric = 0;
    struct aggregate g;
    struct buf out = { 0 };

    (void)state;
    aggregate_init(&g);
    add(&g, "param_001", "{\"lr\":0.1}", JOB_DONE, "m", 1);
    add(&g, "param_001", "{\"lr\":0.1}", JOB_CANCELLED, "m", 1);
    add_failed(&g, "param_001", "out of memory");
    add(&g, "param_002", "{\"lr\":0.2}", JOB_DONE, "m", 2);
    aggregate_finish(&g);
    v.aggregate = &g;
    v.metrics = &metric;
    v.varying = aggregate_varying(&g);
    results_add_table(&out, &v, SIZE_MAX, false);
    assert_string_equal(buf_text(&out),
                        "   CONFIGURATION   lr  N  m  NOTES\n"
                        "   param_001      0.1  1  1  1 failed, 1 cancelled: out of memory\n"
                        "*  param_002      0.2  1  2\n");
    buf_free(&out);
    aggregate_free(&g);
}

static void deviations_decide_how_many_digits_are_shown(void **state)
{
    static const struct {
        double values[2];
        const char *cell;
    } cases[] = {
        { { 0.931234, 0.932234 }, "0.93173 ± 0.00071" },
        { { 12.5, 13.5 }, "13.00 ± 0.71" },
        { { 1500, 1700 }, "1600 ± 141" },
        { { 3, 3 }, "3 ± 0" },
        { { 1e17, 3e17 }, "2e+17 ± 1.41421e+17" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct results_view v = { .n_metrics = 1, .ranked_by = -1, .best = -1, .n = 1 };
        size_t metric = 0;
        struct aggregate g;
        struct buf out = { 0 };

        aggregate_init(&g);
        add(&g, "p", "{}", JOB_DONE, "m", cases[i].values[0]);
        add(&g, "p", "{}", JOB_DONE, "m", cases[i].values[1]);
        aggregate_finish(&g);
        v.aggregate = &g;
        v.metrics = &metric;
        v.varying = aggregate_varying(&g);
        results_add_table(&out, &v, SIZE_MAX, false);
        if (strstr(buf_text(&out), cases[i].cell) == NULL)
            fail_msg("%s lacks %s", buf_text(&out), cases[i].cell);
        buf_free(&out);
        aggregate_free(&g);
    }
}

static void a_filter_leaves_the_columns_that_vary_in_all(void **state)
{
    static const bool keep[] = { false, true };
    struct results_view v = { .ranked_by = -1, .best = -1, .n = 1 };
    struct aggregate g;
    struct buf out = { 0 };

    (void)state;
    aggregate_init(&g);
    add(&g, "param_001", "{\"lr\":1}", JOB_DONE, NULL, 0);
    add(&g, "param_002", "{\"lr\":2}", JOB_DONE, NULL, 0);
    v.varying = aggregate_varying(&g);
    aggregate_keep(&g, keep);
    aggregate_finish(&g);
    v.aggregate = &g;
    results_add_table(&out, &v, 80, false);
    assert_string_equal(buf_text(&out), "  CONFIGURATION  lr  N\n  param_002       2  1\n");
    buf_free(&out);
    aggregate_free(&g);
}

/* Of many configurations, the widest cells last. */
static void fill_many(struct aggregate *g, int n_configs, int n_measures)
{
    for (int i = 0; i < n_configs; i++)
        for (int k = 0; k < n_measures; k++) {
            char name[32], measure[32], params[64];

            snprintf(name, sizeof name, "param_%03d", i);
            snprintf(measure, sizeof measure, "m%d", k);
            snprintf(params, sizeof params, "{\"x\":%d}", i * i);
            add(g, name, params, JOB_DONE, measure, (double)i * i * i + k / 8.0);
        }
    aggregate_finish(g);
}

static size_t cells_of_table(struct results_view *v, size_t width, struct buf *out)
{
    size_t n_cells = 0;

    v->n_cells = &n_cells;
    results_add_table(out, v, width, false);
    v->n_cells = NULL;
    return n_cells;
}

static void what_does_not_fit_costs_no_more_than_what_is_shown(void **state)
{
    enum { N = 200, N_MEASURES = 40, N_OTHERS = 4 /* mark, name, parameter, N */ };
    struct results_view v = { .n_metrics = N_MEASURES, .ranked_by = 0, .best = -1, .n = N };
    size_t metrics[N_MEASURES];
    struct aggregate g;
    struct buf all = { 0 }, narrow = { 0 };
    size_t n_shown;

    (void)state;
    aggregate_init(&g);
    fill_many(&g, N, N_MEASURES);
    for (size_t i = 0; i < N_MEASURES; i++)
        metrics[i] = i;
    v.aggregate = &g;
    v.metrics = metrics;
    v.varying = aggregate_varying(&g);
    assert_int_equal(cells_of_table(&v, SIZE_MAX, &all), N * (N_OTHERS + N_MEASURES));
    n_shown = cells_of_table(&v, 80, &narrow);
    assert_in_range(longest_line(buf_text(&narrow)), 60, 80);
    /* Cells are made of as many columns as the heads alone leave. */
    assert_in_range(n_shown, N * (N_OTHERS + 1), N * (N_OTHERS + N_MEASURES) / 2);
    buf_free(&all);
    buf_free(&narrow);
    aggregate_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_those_of_numpy),
        cmocka_unit_test(replications_meet_in_their_configuration),
        cmocka_unit_test(what_jobs_took_is_the_most_and_the_mean),
        cmocka_unit_test(jobs_that_are_not_done_are_counted_with_the_first_reason),
        cmocka_unit_test(the_best_value_of_each_job_follows_the_goal),
        cmocka_unit_test(without_a_range_the_last_value_is_the_best_one),
        cmocka_unit_test(a_last_value_that_is_no_number_is_counted_and_leaves_no_mean),
        cmocka_unit_test(the_jobs_of_a_configuration_are_known),
        cmocka_unit_test(many_configurations_are_kept_apart),
        cmocka_unit_test(only_parameters_that_vary_are_columns),
        cmocka_unit_test(what_is_left_out_is_gone),
        cmocka_unit_test(the_metric_that_counts_is_the_only_one_or_a_usual_one),
        cmocka_unit_test(the_best_is_found_and_sorting_puts_it_first),
        cmocka_unit_test(a_narrow_terminal_shows_as_many_measures_as_fit),
        cmocka_unit_test(a_terminal_shows_whole_numbers_of_six_digits_and_no_more_than_fits),
        cmocka_unit_test(a_row_says_what_became_of_the_other_jobs),
        cmocka_unit_test(a_filter_leaves_the_columns_that_vary_in_all),
        cmocka_unit_test(what_does_not_fit_costs_no_more_than_what_is_shown),
        cmocka_unit_test(deviations_decide_how_many_digits_are_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* metrics.c - tests of the measures a job reported */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "tests/unit/worker_site.h"
#include "worker/saved/metrics.h"

static const struct metric *get(const struct metrics *m, const char *name)
{
    for (size_t i = 0; i < m->list.n; i++)
        if (strcmp(m->list.items[i].name, name) == 0)
            return &m->list.items[i];
    return NULL;
}

/* Reads the files earlier and metrics, and the series beside them. */
static void read_all(const struct site *s, struct metrics *m)
{
    const struct metrics_files files = { s->top_fd, "earlier", "metrics", s->top_fd };

    metrics_read(m, &files);
}

static void the_last_value_of_each_measure_counts(void **state)
{
    struct site s;
    struct metrics m = { 0 };

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    site_write(s.top_fd, "metrics",
               "{\"accuracy\": 0.5, \"loss\": 3, \"step\": 1}\n"
               "no json at all\n"
               "{\"accuracy\": \"high\", \"ok\": true, \"nothing\": null}\n"
               "[1, 2]\n"
               "\n"
               "{\"accuracy\": 0.9, \"step\": 2}\r\n"
               "{\"nan\": NaN, \"big\": Infinity}\n"
               "{\"val\": {\"acc\": \"0.91\", \"step\": 1}, \"failed\": 3}\n"
               "{\"text\": \"0x1p3\", \"blank\": \" 1\", \"words\": \"1 a\", \"none\": \"\"}\n"
               "{\"last\": 7}");
    read_all(&s, &m);
    assert_int_equal(m.list.n, 8);
    assert_true(get(&m, "val/acc")->value == 0.91 && get(&m, "val/step")->value == 1);
    assert_true(get(&m, "failed")->value == 3);
    assert_true(get(&m, "accuracy")->value == 0.9);
    assert_int_equal(get(&m, "accuracy")->step, 2);
    assert_true(get(&m, "loss")->value == 3);
    assert_int_equal(get(&m, "loss")->step, 1);
    assert_true(get(&m, "last")->value == 7);
    assert_true(get(&m, "last")->step == SCHEMA_NONE);
    site_close(&s);
}

static void the_range_of_each_measure_is_known(void **state)
{
    struct site s;
    struct metrics m = { 0 };
    const struct metric *metric;

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    site_write(s.top_fd, "metrics",
               "{\"loss\": 3}\n{\"loss\": -1.5}\n{\"loss\": NaN}\n{\"loss\": -Infinity}\n"
               "{\"loss\": \"low\"}\n{\"loss\": 2}\n{\"once\": -7}\n");
    read_all(&s, &m);
    metric = get(&m, "loss");
    assert_true(metric->value == 2 && metric->min == -1.5 && metric->max == 3 && metric->n == 3);
    metric = get(&m, "once");
    assert_true(metric->value == -7 && metric->min == -7 && metric->max == -7 && metric->n == 1);
    site_write(s.top_fd, "gain.csv", "epoch,gain\n0,10\n1,nan\n2,\n3,4\n");
    /* The lines of a measure are the ones that count. */
    site_write(s.top_fd, "once.csv", "epoch,once\n0,10\n");
    m = (struct metrics){ .list.arena = s.arena };
    read_all(&s, &m);
    metric = get(&m, "gain");
    assert_true(metric->value == 4 && metric->min == 4 && metric->max == 10 && metric->n == 2);
    metric = get(&m, "once");
    assert_true(metric->value == -7 && metric->n == 1);
    site_close(&s);
}

/* Of the same step only the last value is on the curve, whoever reported it. */
static void measures_go_on_over_attempts(void **state)
{
    struct site s;
    struct buf lines = { 0 };
    struct metrics m = { .series_lines = &lines };
    const struct metric *metric;

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    site_write(s.top_fd, "earlier",
               "{\"a\": 1, \"step\": 1}\n{\"a\": 9, \"step\": 2}\n{\"a\": 3, \"step\": 3}\n"
               "{\"b\": 7, \"step\": 1}\n{\"b\": 8}\n{\"c\": 5, \"step\": 1}\n{\"c\"\n");
    site_write(s.top_fd, "metrics",
               "{\"a\": 2, \"step\": 2}\n{\"b\": 6, \"step\": 2}\n{\"b\": 8}\n");
    site_write(s.top_fd, "a.csv", ",0\n1,100\n");
    site_write(s.top_fd, "c.csv", ",0\n1,4\n2,6\n3,\n");
    read_all(&s, &m);
    assert_int_equal(m.list.n, 3);
    metric = get(&m, "a");
    assert_true(metric->value == 2 && metric->step == 2);
    assert_true(metric->min == 1 && metric->max == 3 && metric->n == 3);
    metric = get(&m, "b");
    assert_true(metric->min == 6 && metric->max == 8 && metric->n == 4);
    metric = get(&m, "c");
    assert_true(isnan(metric->value) && metric->step == 3);
    assert_true(metric->min == 4 && metric->max == 6 && metric->n == 2);
    assert_string_equal(buf_text(&lines), "{\"c\": 4, \"step\": 1}\n{\"c\": 6, \"step\": 2}\n"
                                          "{\"c\": NaN, \"step\": 3}\n");
    buf_free(&lines);
    site_close(&s);
}

/* Else a job that diverged would look as good as it once was. */
static void a_last_value_that_is_no_number_stays_the_last(void **state)
{
    struct site s;
    struct metrics m = { 0 };
    const struct metric *metric;

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    site_write(s.top_fd, "metrics",
               "{\"accuracy\": 0.9, \"step\": 1}\n{\"accuracy\": NaN, \"step\": 2}\n"
               "{\"loss\": 2}\n{\"loss\": Infinity}\n{\"gain\": -Infinity}\n");
    read_all(&s, &m);
    metric = get(&m, "accuracy");
    assert_true(isnan(metric->value) && metric->step == 2);
    assert_true(metric->min == 0.9 && metric->max == 0.9 && metric->n == 1);
    metric = get(&m, "loss");
    assert_true(metric->value > DBL_MAX && metric->min == 2 && metric->max == 2 && metric->n == 1);
    metric = get(&m, "gain");
    assert_true(metric->value < -DBL_MAX && metric->n == 0);
    assert_true(isnan(metric->min) && isnan(metric->max));
    site_close(&s);
}

/* And the first of it is named. */
static void what_is_not_taken_is_counted(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *first;
    } cases[] = {
        { "{\"a\": 1}\n\n  \n{\"a\": \"2\", \"note\": \"warm\"}", 0, NULL },
        { "{\"a\": 1}\n{\n  \"b\": 2\n}\n", 3, "line 2 is no JSON object" },
        { "{\"a\": 1} {\"b\": 1}\n", 1, "line 1 is no JSON object" },
        { "[0.9]\n", 1, "line 1 is no JSON object" },
        { "{\"a\": [0.9]}\n{\"a\": 1, \"b\": \"high\"}\n", 1, "line 1 has no number" },
        { "{\"job\": 13, \"done\": true}\n", 0, NULL },
        { "{\"job\": 13, \"a\n", 1, "line 1 is no JSON object" },
    };
    struct site s;

    (void)state;
    site_open(&s, NULL);
    site_write(s.top_fd, "earlier", "torn\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct metrics m = { .list.arena = s.arena };

        site_write(s.top_fd, "metrics", cases[i].text);
        read_all(&s, &m);
        assert_int_equal(m.n_left_out, cases[i].n);
        if (cases[i].n > 0)
            assert_string_equal(m.left_out, cases[i].first);
    }
    site_close(&s);
}

/* In a batch the lines say which job they are about. */
static void what_a_line_is_about_is_no_measure(void **state)
{
    struct site s;
    struct metrics m = { 0 };

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    site_write(s.top_fd, "metrics",
               "{\"job\": \"7.13\", \"accuracy\": 0.5, \"step\": 1}\n"
               "{\"job\": 13, \"done\": true, \"jobs\": 4}\n"
               "{\"job\": 13, \"failed\": 1, \"done\": 0}\n");
    read_all(&s, &m);
    assert_int_equal(m.list.n, 2);
    assert_true(get(&m, "accuracy")->value == 0.5 && get(&m, "jobs")->value == 4);
    site_close(&s);
}

static void no_more_measures_than_travel_are_kept(void **state)
{
    struct site s;
    struct metrics m = { 0 };
    struct buf text = { 0 };

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    for (int i = 0; i < 2 * METRICS_MAX; i++)
        buf_printf(&text, "{\"m%d\": %d}\n", i, i);
    buf_printf(&text, "{\"m0\": 1000}\n");
    site_write(s.top_fd, "metrics", buf_text(&text));
    read_all(&s, &m);
    assert_int_equal(m.list.n, METRICS_MAX);
    assert_int_equal(m.n_left_out, METRICS_MAX);
    assert_string_equal(m.left_out,
                        "line 4097 has a measure too many, or one whose name is too long");
    assert_true(get(&m, "m0")->value == 1000);
    assert_null(get(&m, "m4096"));
    buf_free(&text);
    site_close(&s);
}

static void an_endless_line_costs_no_memory_and_no_measure(void **state)
{
    struct site s;
    struct metrics m = { 0 };
    struct buf text = { 0 };

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    buf_add_str(&text, "{\"a\": 1}\n{\"b\": \"");
    for (int i = 0; i < 1500 * 1000; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "\"}\n{\"c\": 3}\n");
    site_write(s.top_fd, "metrics", buf_text(&text));
    read_all(&s, &m);
    assert_int_equal(m.list.n, 2);
    assert_int_equal(m.n_left_out, 1);
    assert_string_equal(m.left_out, "line 2 has more than a million bytes");
    assert_true(get(&m, "a")->value == 1 && get(&m, "c")->value == 3);
    buf_free(&text);
    site_close(&s);
}

static void series_are_read_as_pandas_writes_them(void **state)
{
    static const struct {
        const char *text;
        bool found;
        double value;
        int64_t step;
    } cases[] = {
        { ",0\n0,0.5\n1,0.75\n", true, 0.75, 1 },
        { ",accuracy\n0,0.5\n10,0.25\n", true, 0.25, 10 },
        { "0,1\n1,2\n2,3\n", true, 3, 2 },
        { "epoch,loss\r\n1,2.5\r\n", true, 2.5, 1 },
        { "date,loss\n2026-11-21,1e-3\n", true, 1e-3, SCHEMA_NONE },
        { "\"a,b\",7\n", true, 7, SCHEMA_NONE },
        { ",0\n0,0.5\n1,\n", true, (double)NAN, 1 },
        { ",0\n0,0.5\n1,inf\n", true, (double)INFINITY, 1 },
        { "epoch,\n1,0.5\n", true, 0.5, 1 },
        { "epoch,\n", false, 0, 0 },
        { ",0\n0,0.5\n1,0.6x\n", true, 0.5, 0 },
        { ",0\n", false, 0, 0 },
        { ",a,b\n0,1,2\n", false, 0, 0 },
        { "epoch;loss\n0;0,1\n1;0,9\n", false, 0, 0 },
        { "id,label\n1,7\n", false, 0, 0 },
        { "id,loss\n1,7\n", true, 7, 1 },
        { "Step,value\n1,7\n", true, 7, 1 },
        { "", false, 0, 0 },
        { "just text\n", false, 0, 0 },
    };
    struct site s;

    (void)state;
    site_open(&s, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct metrics m = { .list.arena = s.arena };
        const struct metric *metric;

        site_write(s.top_fd, "loss.csv", cases[i].text);
        read_all(&s, &m);
        metric = get(&m, "loss");
        if ((metric != NULL) != cases[i].found)
            fail_msg("case %zu", i);
        if (metric == NULL)
            continue;
        assert_true(isnan(cases[i].value) ? isnan(metric->value) : metric->value == cases[i].value);
        assert_true(metric->step == cases[i].step);
    }
    site_close(&s);
}

static void only_csv_files_of_the_folder_itself_are_series(void **state)
{
    struct site s;
    struct metrics m = { 0 };

    (void)state;
    site_open(&s, NULL);
    m.list.arena = s.arena;
    assert_int_equal(mkdirat(s.top_fd, "d", 0700), 0);
    assert_int_equal(mkdirat(s.top_fd, "folder.csv", 0700), 0);
    assert_int_equal(mkfifoat(s.top_fd, "fifo.csv", 0600), 0);
    site_write(s.top_fd, "d/deep.csv", "0,1\n");
    site_write(s.top_fd, "b.csv", "0,2\n");
    site_write(s.top_fd, "a.csv", "0,1\n");
    site_write(s.top_fd, "a.txt", "0,1\n");
    read_all(&s, &m);
    assert_int_equal(m.list.n, 2);
    assert_string_equal(m.list.items[0].name, "a");
    assert_string_equal(m.list.items[1].name, "b");
    assert_true(metrics_is_series("a.csv"));
    assert_false(metrics_is_series("d/deep.csv") || metrics_is_series(".csv"));
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_value_of_each_measure_counts),
        cmocka_unit_test(the_range_of_each_measure_is_known),
        cmocka_unit_test(measures_go_on_over_attempts),
        cmocka_unit_test(a_last_value_that_is_no_number_stays_the_last),
        cmocka_unit_test(what_is_not_taken_is_counted),
        cmocka_unit_test(what_a_line_is_about_is_no_measure),
        cmocka_unit_test(no_more_measures_than_travel_are_kept),
        cmocka_unit_test(an_endless_line_costs_no_memory_and_no_measure),
        cmocka_unit_test(series_are_read_as_pandas_writes_them),
        cmocka_unit_test(only_csv_files_of_the_folder_itself_are_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

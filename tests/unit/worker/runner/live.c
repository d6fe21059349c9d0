/* SPDX-License-Identifier: MIT */
/* live.c - tests of the values of a metric that a job reports while it runs */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/io.h"
#include "worker/base/child_protocol.h"
#include "worker/runner/live.h"

struct scene {
    char *dir;
    struct live live;
};

static struct scene *begin(const struct live_policy *policy)
{
    struct scene *s = mem_alloc(sizeof *s);
    char template[] = "/tmp/ludwig-live-XXXXXX";
    struct token token;

    assert_non_null(mkdtemp(template));
    s->dir = mem_strdup(template);
    token_make(&token);
    live_begin(&s->live, policy, &token, open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return s;
}

static void end(struct scene *s)
{
    live_end(&s->live);
    assert_int_equal(io_remove_tree(s->dir, NULL), 0);
    free(s->dir);
    free(s);
}

static void report(const struct scene *s, const char *line)
{
    char *path = mem_printf("%s/" JOB_METRICS, s->dir);
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    fputs(line, f);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static const struct live_policy loss = { .metric = "loss", .tells = true };

static void lines_that_have_the_metric_count(void **state)
{
    static const struct {
        const char *step, *lines;
        int64_t steps[3];
        double values[3];
        size_t n;
    } cases[] = {
        { NULL, "{\"loss\": 0.5, \"step\": 7}\n{\"acc\": 1, \"step\": 8}\n", { 7 }, { 0.5 }, 1 },
        { "epoch", "{\"epoch\": 2, \"loss\": 1, \"step\": 900}\n", { 2 }, { 1 }, 1 },
        { "epoch",
          "{\"epoch\": 2.0, \"loss\": 1}\n{\"epoch\": 2.5, \"loss\": 1}\n",
          { 2 },
          { 1 },
          1 },
        { NULL, "{\"loss\": 3}\n{\"loss\": 2}\n", { 1, 2 }, { 3, 2 }, 2 }, /* counted */
        { NULL, "{\"loss\": \"low\"}\n[1]\nloss\n{\"loss\": 1, \"step\": -1}\n", { 0 }, { 0 }, 0 },
        { NULL,
          "{\"loss\": 1e999, \"step\": 1e300}\n{\"loss\": 4, \"step\": 1}\n",
          { 1 },
          { 4 },
          1 },
        { NULL, "{\"loss\": \"3\", \"step\": \"2\"}\n", { 2 }, { 3 }, 1 },
        { NULL, "{\"loss\": 1, \"step\": 1}\n{\"loss\": 2, \"st", { 1 }, { 1 }, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct live_policy policy = loss;
        struct scene *s;

        policy.step = cases[i].step;
        s = begin(&policy);
        report(s, cases[i].lines);
        live_look(&s->live);
        assert_int_equal(s->live.n, cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++) {
            assert_int_equal(s->live.values[k].step, cases[i].steps[k]);
            assert_true(s->live.values[k].value == cases[i].values[k]);
        }
        end(s);
    }
}

static void nothing_is_read_where_nobody_asks(void **state)
{
    static const struct live_policy nothing = { .metric = NULL };
    struct scene *s = begin(&nothing);

    (void)state;
    report(s, "{\"loss\": 1}\n");
    live_look(&s->live);
    live_finish(&s->live);
    assert_int_equal(live_fd(&s->live), -1);
    assert_int_equal(live_wait_ms(&s->live), -1);
    assert_int_equal(s->live.n, 0);
    end(s);
}

static void a_job_that_writes_often_is_read_seldom(void **state)
{
    struct scene *s = begin(&loss);

    (void)state;
    report(s, "{\"loss\": 1, \"step\": 1}\n");
    assert_int_equal(live_wait_ms(&s->live), 0); /* it may have reported before it was watched */
    live_look(&s->live);
    assert_int_equal(s->live.n, 1);
    assert_int_equal(live_fd(&s->live), -1);
    assert_true(live_wait_ms(&s->live) > 0);
    report(s, "{\"loss\": 1, \"step\": 2}\n");
    live_look(&s->live);
    assert_int_equal(s->live.n, 1);
    live_finish(&s->live);
    assert_int_equal(s->live.n, 2);
    end(s);
}

static void the_last_line_counts_though_it_lacks_its_end(void **state)
{
    struct scene *s = begin(&loss);

    (void)state;
    report(s, "{\"loss\": 1, \"step\": 1}");
    live_look(&s->live);
    assert_int_equal(s->live.n, 0);
    live_finish(&s->live);
    assert_int_equal(s->live.n, 1);
    end(s);
}

static void a_new_agent_is_told_all_again(void **state)
{
    struct scene *s = begin(&loss);

    (void)state;
    report(s, "{\"loss\": 3}\n{\"loss\": 2}\n");
    live_finish(&s->live);
    s->live.n = 0; /* it was told */
    live_again(&s->live);
    live_finish(&s->live);
    assert_int_equal(s->live.n, 2);
    assert_int_equal(s->live.values[1].step, 2);
    end(s);
}

static void of_too_many_values_some_go_and_the_last_stays(void **state)
{
    struct scene *s = begin(&loss);
    struct buf lines = { 0 };

    (void)state;
    for (int step = 1; step <= 3 * LIVE_VALUES_MAX; step++)
        buf_printf(&lines, "{\"loss\": 1, \"step\": %d}\n", step);
    report(s, buf_text(&lines));
    buf_free(&lines);
    live_finish(&s->live);
    assert_true(s->live.n <= LIVE_VALUES_MAX);
    assert_int_equal(s->live.values[0].step, 1);
    assert_int_equal(s->live.values[s->live.n - 1].step, 3 * LIVE_VALUES_MAX);
    end(s);
}

static void the_first_nan_or_infinity_is_known(void **state)
{
    static const char *const lines[] = { "{\"loss\": NaN, \"step\": 4}\n",
                                         "{\"loss\": -Infinity, \"step\": 4}\n" };
    struct live_policy policy = { .metric = "loss", .ends_nan = true };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct scene *s = begin(&policy);

        report(s, "{\"loss\": 1, \"step\": 3}\n{\"acc\": NaN}\n");
        report(s, lines[i]);
        report(s, "{\"loss\": NaN, \"step\": 5}\n");
        live_finish(&s->live);
        assert_true(s->live.has_nan);
        assert_int_equal(s->live.nan.step, 4);
        assert_int_equal(s->live.n, 0); /* nobody is told */
        end(s);
    }
}

/* A job can say that its file is larger than any disk. */
static void nothing_is_looked_for_in_a_hole(void **state)
{
    struct scene *s = begin(&loss);
    char *path = mem_printf("%s/" JOB_METRICS, s->dir);

    (void)state;
    report(s, "{\"loss\": 3}\n");
    assert_int_equal(truncate(path, (off_t)1 << 42), 0);
    report(s, "\n{\"loss\": 2}\n");
    assert_int_equal(truncate(path, (off_t)3 << 41), 0);
    live_finish(&s->live);
    assert_int_equal(s->live.n, 2);
    assert_int_equal(s->live.values[1].value, 2);
    free(path);
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_have_the_metric_count),
        cmocka_unit_test(nothing_is_read_where_nobody_asks),
        cmocka_unit_test(a_job_that_writes_often_is_read_seldom),
        cmocka_unit_test(the_last_line_counts_though_it_lacks_its_end),
        cmocka_unit_test(a_new_agent_is_told_all_again),
        cmocka_unit_test(of_too_many_values_some_go_and_the_last_stays),
        cmocka_unit_test(the_first_nan_or_infinity_is_known),
        cmocka_unit_test(nothing_is_looked_for_in_a_hole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* curves.c - tests of series that are thinned for a picture */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/results/curves.h"
#include "common/base/io.h"

struct drive {
    char root[64];
    struct share_dir *fs;
};

static void set_up(struct drive *d)
{
    snprintf(d->root, sizeof d->root, "/tmp/ludwig-curves-XXXXXX");
    assert_non_null(mkdtemp(d->root));
    d->fs = share_open_mount(d->root, NULL);
    assert_non_null(d->fs);
}

static void tear_down(struct drive *d)
{
    share_close(d->fs);
    assert_int_equal(io_remove_tree(d->root, NULL), 0);
}

/* A job that reported so many steps of a and, at every second one, b. */
static void write_steps(struct drive *d, const char *run, int n)
{
    struct buf lines = { 0 };
    char *path = mem_printf("%s/metrics.jsonl", run);

    for (int i = 0; i < n; i++)
        buf_printf(&lines,
                   i % 2 == 0 ? "{\"step\": %d, \"a\": %d, \"b\": -1}\n"
                              : "{\"step\": %d, \"a\": %d}\n",
                   i, 2 * i);
    assert_int_equal(share_make_dir(d->fs, run, 0755, NULL), 0);
    assert_int_equal(share_write(d->fs, path, buf_text(&lines), lines.n, 0644, NULL), 0);
    buf_free(&lines);
    free(path);
}

static void read_run(struct curves *c, struct drive *d, size_t index, const char *run)
{
    static const char *const metrics[] = { "a", "b", "none" };
    const struct job_result job = { .job = "1.1", .run_path = run };

    curves_read(c, index, d->fs, &job, metrics, 3);
}

static void a_short_series_is_whole(void **state)
{
    struct curves c;
    struct drive d = { "", NULL };

    (void)state;
    set_up(&d);
    write_steps(&d, "one", 20);
    curves_init(&c, 100);
    read_run(&c, &d, 5, "one");
    read_run(&c, &d, 6, "missing");
    assert_int_equal(c.n, 2); /* nothing of "none", nor of a job that is not there */
    assert_int_equal(c.items[0].job, 5);
    assert_int_equal(c.items[0].metric, 0);
    assert_int_equal(c.items[0].n, 20);
    assert_true(c.items[0].points[19].step == 19 && c.items[0].points[19].value == 38);
    assert_int_equal(c.items[1].metric, 1);
    assert_int_equal(c.items[1].n, 10);
    curves_free(&c);
    tear_down(&d);
}

/* However many points there are: the same steps for both, and the last one. */
static void a_long_series_is_thinned(void **state)
{
    struct curves c;
    struct drive d = { "", NULL };

    (void)state;
    set_up(&d);
    write_steps(&d, "one", 5000);
    write_steps(&d, "two", 5000);
    curves_init(&c, 10 * 1000);
    assert_int_equal(c.points_max, 40);
    read_run(&c, &d, 0, "one");
    read_run(&c, &d, 1, "two");
    assert_int_equal(c.n, 4);
    for (size_t i = 0; i < c.n; i++) {
        const struct curve *curve = &c.items[i];

        assert_true(curve->n > 20 && curve->n <= c.points_max + 1);
        assert_true(curve->points[0].step == 0);
        for (size_t k = 2; k + 1 < curve->n; k++)
            assert_true(curve->points[k].step - curve->points[k - 1].step ==
                        curve->points[1].step - curve->points[0].step);
    }
    assert_true(c.items[0].points[c.items[0].n - 1].step == 4999);
    for (size_t k = 0; k < c.items[0].n; k++)
        assert_true(c.items[0].points[k].step == c.items[2].points[k].step);
    curves_free(&c);
    tear_down(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_series_is_whole),
        cmocka_unit_test(a_long_series_is_thinned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

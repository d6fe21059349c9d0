/* SPDX-License-Identifier: MIT */
/* slurmbudget.c - tests of how many commands of Slurm's are run */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/slurm/slurmbudget.h"

enum { BEGIN_MS = 1234567, MINUTE_MS = 60000 };

static struct slurm_budget begin(void)
{
    struct slurm_budget b;

    slurm_budget_begin(&b, BEGIN_MS);
    return b;
}

static int take_all(struct slurm_budget *b, int64_t now_ms)
{
    int n = 0;

    while (slurm_budget_take(b, now_ms))
        n++;
    return n;
}

static void test_thirty_at_once_and_one_a_second(void **state)
{
    struct slurm_budget b = begin();

    (void)state;
    assert_int_equal(slurm_budget_wait_ms(&b, BEGIN_MS), 0);
    assert_int_equal(take_all(&b, BEGIN_MS), 30);
    assert_int_equal(slurm_budget_wait_ms(&b, BEGIN_MS), 1000);
    assert_int_equal(slurm_budget_wait_ms(&b, BEGIN_MS + 400), 600);
    assert_int_equal(take_all(&b, BEGIN_MS + 999), 0);
    assert_int_equal(take_all(&b, BEGIN_MS + 1000), 1);
    assert_int_equal(take_all(&b, BEGIN_MS + 4500), 3);
    assert_int_equal(take_all(&b, BEGIN_MS + 5000), 1);
    assert_int_equal(take_all(&b, BEGIN_MS + MINUTE_MS * 1000), 30);
}

static void test_several_at_once_wait_for_as_many_as_there_can_be(void **state)
{
    const struct slurm_config small = { .rpc_bucket = 8,
                                        .rpc_refill = 2,
                                        .rpc_refill_period_s = 1 };
    struct slurm_budget b = begin();

    (void)state;
    assert_int_equal(slurm_budget_wait_for_ms(&b, 7, BEGIN_MS), 0);
    take_all(&b, BEGIN_MS);
    assert_int_equal(slurm_budget_wait_for_ms(&b, 7, BEGIN_MS + 400), 6600);
    assert_int_equal(slurm_budget_wait_for_ms(&b, 7, BEGIN_MS + 6999), 1);
    assert_int_equal(slurm_budget_wait_for_ms(&b, 7, BEGIN_MS + 7000), 0);
    slurm_budget_fit(&b, &small);
    take_all(&b, BEGIN_MS + 7000);
    assert_int_equal(slurm_budget_wait_for_ms(&b, 7, BEGIN_MS + 7000), 4000);
    assert_int_equal(take_all(&b, BEGIN_MS + 11000), 4);
}

static void test_a_clock_that_stands_still_gives_nothing(void **state)
{
    struct slurm_budget b = begin();

    (void)state;
    take_all(&b, BEGIN_MS);
    assert_int_equal(take_all(&b, BEGIN_MS - 5000), 0);
    assert_int_equal(take_all(&b, BEGIN_MS), 0);
}

static const struct {
    int64_t bucket, refill, period_s; /* the site's */
    int64_t at_once, every_ms;        /* ours */
} sites[] = {
    { 0, 0, 0, 30, 1000 },                                        /* no limit */
    { 30, 2, 1, 15, 1000 },                                       /* Slurm's own figures */
    { 30, 1, 1, 15, 2000 },          { 1000, 1000, 1, 30, 1000 }, /* more than we want */
    { 1, 1, 10, 1, 20000 },          { 1, 0, 0, 1, 2000 },
    { 2, 1, INT64_MAX, 1, 7200000 }, { INT64_MAX, INT64_MAX, 1, 30, 1000 },
};

static void test_a_sites_limit_is_kept_by_half(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const struct slurm_config config = { .rpc_bucket = sites[i].bucket,
                                             .rpc_refill = sites[i].refill,
                                             .rpc_refill_period_s = sites[i].period_s };
        struct slurm_budget b = begin();

        slurm_budget_fit(&b, &config);
        assert_int_equal(take_all(&b, BEGIN_MS), sites[i].at_once);
        assert_int_equal(slurm_budget_wait_ms(&b, BEGIN_MS), sites[i].every_ms);
    }
}

static void test_the_last_hour_is_counted(void **state)
{
    struct slurm_budget b = begin();

    (void)state;
    take_all(&b, BEGIN_MS);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS), 30);
    take_all(&b, BEGIN_MS + 30 * MINUTE_MS);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 58 * MINUTE_MS), 60);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 60 * MINUTE_MS), 30);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 91 * MINUTE_MS), 0);
    assert_int_equal(take_all(&b, BEGIN_MS + 10000 * MINUTE_MS), 30);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 10000 * MINUTE_MS), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thirty_at_once_and_one_a_second),
        cmocka_unit_test(test_several_at_once_wait_for_as_many_as_there_can_be),
        cmocka_unit_test(test_a_clock_that_stands_still_gives_nothing),
        cmocka_unit_test(test_a_sites_limit_is_kept_by_half),
        cmocka_unit_test(test_the_last_hour_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

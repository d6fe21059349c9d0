/* SPDX-License-Identifier: MIT */
/* pilot_plan.c - how many pilots of which size and time a pool gets */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/pilot/pilot_plan.h"

/* Whose sweep they are of is all the same. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define GIB    (INT64_C(1) << 30)

/* Nodes of 16 processors, 8 GPUs and 64 GiB; 48 processors in all; an hour, and two days at most. */
static const struct plan_partition partition = { { 16000, 8000, 64 * GIB }, 48, 48 * HOUR, HOUR };

struct known {
    const char *sentence;
    struct plan_demand demand;
    struct plan_pilot pilots[4];
    size_t n_pilots;
    bool has_one_job_each;
    int64_t most;
    struct plan_order order;
};

/* Jobs of one processor, each of which has a slot in a pilot of four. */
#define FOUR                                       \
    {                                              \
        .size = { 4000, 0, 0 }, .is_waiting = true \
    }

static const struct known cases[] = {
    { "as many slots as jobs, in one pilot",
      { .jobs = 4, .size = { 1000, 0, GIB }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 4000, 0, 4 * GIB }, 0, 1 } },
    { "several pilots, each no larger than a node",
      { .jobs = 40, .size = { 1000, 0, 0 }, .need_ms = 2 * HOUR, .takes_ms = HOUR },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 16000, 0, 0 }, 2 * HOUR + MINUTE, 3 } },
    { "no more than the partition can hold",
      { .jobs = 400, .size = { 1000, 0, 0 }, .need_ms = 2 * HOUR, .takes_ms = HOUR },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 16000, 0, 0 }, 2 * HOUR + MINUTE, 3 } },
    { "no more than are allowed",
      { .jobs = 400, .size = { 1000, 0, 0 }, .need_ms = 2 * HOUR, .takes_ms = HOUR },
      { { .is_waiting = false } },
      0,
      false,
      2,
      { { 16000, 0, 0 }, 2 * HOUR + MINUTE, 2 } },
    { "none when none are allowed",
      { .jobs = 400, .size = { 1000, 0, 0 }, .need_ms = 2 * HOUR, .takes_ms = HOUR },
      { { .is_waiting = false } },
      0,
      false,
      0,
      { { 16000, 0, 0 }, 0, 0 } },
    { "memory limits how many share one",
      { .jobs = 8, .size = { 1000, 0, 30 * GIB }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 2000, 0, 60 * GIB }, 0, 4 } },
    { "one GPU to a pilot",
      { .jobs = 3, .size = { 2000, 1000, 0 }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 2000, 1000, 0 }, 0, 3 } },
    { "jobs of two GPUs have both",
      { .jobs = 2, .size = { 2000, 2000, 0 }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 2000, 2000, 0 }, 0, 2 } },
    { "parts of a GPU share it",
      { .jobs = 4, .size = { 1000, 250, 0 }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 4000, 1000, 0 }, 0, 1 } },
    { "a job that is larger than any node is left for Slurm to judge",
      { .jobs = 1, .size = { 99000, 0, 0 }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 99000, 0, 0 }, 0, 1 } },
    { "one job each, where the site wants it so",
      { .jobs = 3, .size = { 1000, 0, 0 }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      true,
      100,
      { { 1000, 0, 0 }, 0, 3 } },
    { "those that wait are counted",
      { .jobs = 6, .size = { 1000, 0, 0 }, .need_ms = 0, .takes_ms = 0 },
      { FOUR },
      1,
      false,
      100,
      { { 2000, 0, 0 }, 0, 1 } },
    { "none when there are enough",
      { .jobs = 8, .size = { 1000, 0, 0 }, .need_ms = 0, .takes_ms = 0 },
      { FOUR, FOUR },
      2,
      false,
      100,
      { { 0 }, 0, 0 } },
    { "one that works has no room for long jobs",
      { .jobs = 4, .size = { 1000, 0, 0 }, .need_ms = 2 * HOUR, .takes_ms = HOUR },
      { { .size = { 4000, 0, 0 } } },
      1,
      false,
      100,
      { { 4000, 0, 0 }, 2 * HOUR + MINUTE, 1 } },
    { "one that works is enough for short ones",
      { .jobs = 100, .size = { 1000, 0, 0 }, .need_ms = MINUTE, .takes_ms = SECOND },
      { { .size = { 4000, 0, 0 } } },
      1,
      false,
      100,
      { { 0 }, 0, 0 } },
    { "so many slots that each has work for a minute",
      { .jobs = 1000, .size = { 1000, 0, 0 }, .need_ms = MINUTE, .takes_ms = SECOND },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 16000, 0, 0 }, 10 * MINUTE, 2 } },
    { "a few as long as nobody knows how long jobs take",
      { .jobs = 10000, .size = { 4000, 0, 0 }, .need_ms = 0, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 16000, 0, 0 }, 0, 3 } },
    { "time enough for one, whatever is usual",
      { .jobs = 1, .size = { 1000, 0, 0 }, .need_ms = 9 * HOUR, .takes_ms = 9 * HOUR },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 1000, 0, 0 }, 9 * HOUR + MINUTE, 1 } },
    { "time that the partition does not have is asked for: Slurm says so",
      { .jobs = 1, .size = { 1000, 0, 0 }, .need_ms = 99 * HOUR, .takes_ms = 99 * HOUR },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 1000, 0, 0 }, 99 * HOUR, 1 } },
    { "whole minutes",
      { .jobs = 1, .size = { 1000, 0, 0 }, .need_ms = 20 * MINUTE + 1, .takes_ms = 20 * MINUTE },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 1000, 0, 0 }, 21 * MINUTE, 1 } },
    { "the job begins after its pilot",
      { .jobs = 1, .size = { 1000, 0, 0 }, .need_ms = 20 * MINUTE, .takes_ms = 0 },
      { { .is_waiting = false } },
      0,
      false,
      100,
      { { 1000, 0, 0 }, 21 * MINUTE, 1 } },
};

static void a_pilot_that_is_too_short_for_a_job_that_grew_does_not_count(void **state)
{
    struct plan_demand d = { .jobs = 1, .size = { 1000, 0, 0 }, .need_ms = 20 * MINUTE };
    const struct plan_pilot waits = { .size = { 4000, 0, 0 },
                                      .is_waiting = true,
                                      .time_ms = 10 * MINUTE };
    const struct plan_pool pool = { &d, 1, &waits, 1, partition, false, 100 };

    (void)state;
    assert_int_equal(pilot_plan(&pool).n, 0);
    d.grown = (struct grown){ GIB, 19 * MINUTE };
    assert_int_equal(pilot_plan(&pool).n, 1);
    assert_int_equal(pilot_plan(&pool).grown.time_ms, 19 * MINUTE);
    d.need_ms = 10 * MINUTE;
    assert_int_equal(pilot_plan(&pool).n, 0);
}

static void each_pool_gets_what_it_needs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct known *k = &cases[i];
        const struct plan_pool pool = { &k->demand,  1,         k->pilots,
                                        k->n_pilots, partition, k->has_one_job_each,
                                        k->most };
        struct plan_order o = pilot_plan(&pool);

        if (o.n != k->order.n)
            fail_msg("%s: %lld pilots", k->sentence, (long long)o.n);
        if (o.n == 0)
            continue;
        if (o.size.cpus_milli != k->order.size.cpus_milli ||
            o.size.gpus_milli != k->order.size.gpus_milli ||
            o.size.memory_bytes != k->order.size.memory_bytes)
            fail_msg("%s: %lld, %lld, %lld", k->sentence, (long long)o.size.cpus_milli,
                     (long long)o.size.gpus_milli, (long long)o.size.memory_bytes);
        if (o.time_ms != k->order.time_ms)
            fail_msg("%s: %lld min", k->sentence, (long long)(o.time_ms / MINUTE));
    }
}

/* What one sweep's jobs get of a pilot, another's do not. */
static void sweeps_share_what_there_is(void **state)
{
    const struct plan_demand demands[] = {
        { .jobs = 3, .size = { 1000, 0, 0 }, .need_ms = 0, .takes_ms = 0 },
        { .jobs = 3, .size = { 1000, 0, 0 }, .need_ms = 0, .takes_ms = 0 }
    };
    const struct plan_pilot pilots[] = { FOUR };
    struct plan_pool pool = { demands, 2, pilots, 1, partition, false, 100 };
    struct plan_order o = pilot_plan(&pool);

    (void)state;
    assert_int_equal(o.n, 1);
    assert_int_equal(o.size.cpus_milli, 2000);
}

struct sharing {
    const char *sentence;
    struct plan_demand demand;
    struct plan_pilot pilot;
    bool may_use;
    int64_t n; /* processors of all that is ordered */
};

static const struct sharing shared[] = {
    { "half of it, when another pool is asked next",
      { .jobs = 8, .size = { 1000, 0, 0 }, .n_sharing = 2 },
      { .size = { 0 } },
      true,
      4 },
    { "the odd one goes to the first",
      { .jobs = 7, .size = { 1000, 0, 0 }, .n_sharing = 2 },
      { .size = { 0 } },
      true,
      4 },
    { "what waits in another pool is taken off",
      { .jobs = 8, .size = { 1000, 0, 0 }, .n_sharing = 1 },
      { .size = { 5000, 0, 0 }, .is_waiting = true, .is_elsewhere = true },
      true,
      3 },
    { "but not when it waits for long",
      { .jobs = 8, .size = { 1000, 0, 0 }, .n_sharing = 1 },
      { .size = { 5000, 0, 0 }, .is_waiting = true, .is_elsewhere = true, .is_late = true },
      true,
      8 },
    { "one's own are counted however long they wait",
      { .jobs = 8, .size = { 1000, 0, 0 }, .n_sharing = 1 },
      { .size = { 5000, 0, 0 }, .is_waiting = true, .is_late = true },
      true,
      3 },
    { "what works elsewhere at long jobs has no room",
      { .jobs = 8, .size = { 1000, 0, 0 }, .need_ms = 2 * HOUR, .takes_ms = HOUR, .n_sharing = 1 },
      { .size = { 5000, 0, 0 }, .is_elsewhere = true, .is_late = true },
      true,
      8 },
    { "what works elsewhere at short ones takes these as well",
      { .jobs = 480,
        .size = { 1000, 0, 0 },
        .need_ms = MINUTE,
        .takes_ms = SECOND,
        .n_sharing = 1 },
      { .size = { 5000, 0, 0 }, .is_elsewhere = true, .is_late = true },
      true,
      3 },
    { "a pilot that is not for the sweep is none",
      { .jobs = 8, .size = { 1000, 0, 0 }, .n_sharing = 1 },
      { .size = { 5000, 0, 0 }, .is_waiting = true, .is_elsewhere = true },
      false,
      8 },
};

static void pools_share_what_a_sweep_wants(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        const struct sharing *s = &shared[i];
        struct plan_demand demand = s->demand;
        const struct plan_pool pool = { .demands = &demand,
                                        .n_demands = 1,
                                        .pilots = &s->pilot,
                                        .n_pilots = 1,
                                        .partition = partition,
                                        .most = 100 };
        struct plan_order o;

        demand.may_use = &s->may_use;
        o = pilot_plan(&pool);
        if (o.n * o.size.cpus_milli != 1000 * s->n)
            fail_msg("%s: %lld pilots of %lld", s->sentence, (long long)o.n,
                     (long long)o.size.cpus_milli);
    }
}

/* However short they are. */
static void where_each_has_its_own_there_are_as_many_as_jobs(void **state)
{
    const struct plan_demand demand = {
        .jobs = 20, .size = { 1000, 0, 0 }, .need_ms = MINUTE, .takes_ms = SECOND
    };
    const struct plan_pilot pilots[] = {
        { { 1000, 0, 0 }, .is_waiting = true, .takes_one = true },
        { { 4000, 0, 0 }, .is_waiting = true, .takes_one = true }
    };
    const struct plan_pool pool = { .demands = &demand,
                                    .n_demands = 1,
                                    .pilots = pilots,
                                    .n_pilots = 2,
                                    .partition = partition,
                                    .has_one_job_each = true,
                                    .most = 100 };
    struct plan_order o = pilot_plan(&pool);

    (void)state;
    assert_int_equal(o.n, 18);
    assert_int_equal(o.size.cpus_milli, 1000);
    assert_int_equal(o.time_ms, 10 * MINUTE);
}

/* What another pool has there leaves no less room for this one's. */
static void a_partition_is_filled_with_its_own(void **state)
{
    const struct plan_demand demand = {
        .jobs = 400, .size = { 1000, 0, 0 }, .need_ms = HOUR, .takes_ms = HOUR
    };
    const struct plan_pilot pilots[] = { { .is_elsewhere = true }, { .is_elsewhere = true } };
    const struct plan_pool pool = { .demands = &demand,
                                    .n_demands = 1,
                                    .pilots = pilots,
                                    .n_pilots = 2,
                                    .partition = partition,
                                    .most = 100 };

    (void)state;
    assert_int_equal(pilot_plan(&pool).n, 3);
}

struct shape {
    struct plan_demand demand;
    struct plan_size pilot; /* as the site says */
    struct plan_order order;
};

/* Nodes have 16 processors and 8 GPUs. */
static const struct shape shapes[] = {
    { { .jobs = 12, .size = { 1000, 0, 0 } }, { 3000, 0, 0 }, { { 3000, 0, 0 }, 0, 4 } },
    { { .jobs = 40, .size = { 1000, 0, 0 } }, { 64000, 0, 0 }, { { 16000, 0, 0 }, 0, 3 } },
    { { .jobs = 2, .size = { 4000, 0, 0 } }, { 3000, 0, 0 }, { { 4000, 0, 0 }, 0, 2 } },
    { { .jobs = 8, .size = { 1000, 1000, 0 } }, { 0, 4000, 0 }, { { 4000, 4000, 0 }, 0, 2 } },
    { { .jobs = 16, .size = { 1000, 1000, 0 } }, { 0, 64000, 0 }, { { 8000, 8000, 0 }, 0, 2 } },
};

static void a_site_says_how_large_pilots_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct plan_pool pool = {
            .demands = &shapes[i].demand, .n_demands = 1, .partition = partition, .most = 100
        };
        struct plan_order o;

        pool.partition.pilot = shapes[i].pilot;
        o = pilot_plan(&pool);
        assert_int_equal(o.n, shapes[i].order.n);
        assert_int_equal(o.size.cpus_milli, shapes[i].order.size.cpus_milli);
        assert_int_equal(o.size.gpus_milli, shapes[i].order.size.gpus_milli);
    }
}

/* Nothing is known of the partition. */
static void an_unknown_partition_limits_nothing(void **state)
{
    const struct plan_demand demand = {
        .jobs = 40, .size = { 1000, 0, 0 }, .need_ms = 0, .takes_ms = 0
    };
    const struct plan_pool pool = { &demand, 1, NULL, 0, { { 0 }, 0, 0, 0 }, false, 100 };
    struct plan_order o = pilot_plan(&pool);

    (void)state;
    assert_int_equal(o.n, 3);
    assert_int_equal(o.size.cpus_milli, 16000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pool_gets_what_it_needs),
        cmocka_unit_test(a_pilot_that_is_too_short_for_a_job_that_grew_does_not_count),
        cmocka_unit_test(sweeps_share_what_there_is),
        cmocka_unit_test(pools_share_what_a_sweep_wants),
        cmocka_unit_test(where_each_has_its_own_there_are_as_many_as_jobs),
        cmocka_unit_test(a_partition_is_filled_with_its_own),
        cmocka_unit_test(a_site_says_how_large_pilots_are),
        cmocka_unit_test(an_unknown_partition_limits_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* server_sched.c - tests of how queued jobs are split over workers */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "server/sched.h"

enum { MAX = 8 };

/* A situation under construction. */
struct world {
    struct sched_sweep sweeps[MAX];
    struct sched_worker workers[MAX];
    struct sched_load loads[MAX];
    struct sched_input in;
    bool all[MAX], none[MAX], some[MAX];
};

static void world_begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    for (int i = 0; i < MAX; i++)
        w->all[i] = true;
    w->in.sweeps = w->sweeps;
    w->in.workers = w->workers;
    w->in.loads = w->loads;
}

static struct sched_sweep *sweep(struct world *w, uid_t uid, int64_t ready, int64_t cpus_milli)
{
    struct sched_sweep *s = &w->sweeps[w->in.n_sweeps++];

    *s = (struct sched_sweep){ .id = (int64_t)w->in.n_sweeps,
                               .uid = uid,
                               .ready = ready,
                               .cpus_milli = cpus_milli,
                               .may_use = w->all };
    return s;
}

static struct sched_worker *worker(struct world *w, int64_t cpus, int64_t gpus)
{
    struct sched_worker *k = &w->workers[w->in.n_workers++];

    *k = (struct sched_worker){ (int64_t)w->in.n_workers, 1000 * cpus, 1000 * gpus,
                                INT64_C(64) << 30 };
    return k;
}

static struct sched_load *load(struct world *w, size_t worker_index, size_t sweep_index, uid_t uid,
                               int64_t jobs, int64_t cpus_milli)
{
    struct sched_load *l = &w->loads[w->in.n_loads++];

    *l = (struct sched_load){ .worker = worker_index,
                              .sweep = sweep_index,
                              .uid = uid,
                              .jobs = jobs,
                              .cpus_milli = cpus_milli,
                              .may_use = w->all };
    return l;
}

static int64_t given(const struct sched_plan *p, size_t worker_index, size_t sweep_index)
{
    int64_t jobs = 0;

    for (size_t i = 0; i < p->n_hands; i++)
        if ((worker_index == SIZE_MAX || p->hands[i].worker == worker_index) &&
            (sweep_index == SIZE_MAX || p->hands[i].sweep == sweep_index))
            jobs += p->hands[i].jobs;
    return jobs;
}

#define ANY SIZE_MAX

static void split(struct world *w, struct sched_plan *p)
{
    sched_split(&w->in, p);
}

static void test_nothing_queued_or_nobody_there_gives_no_hands(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    split(&w, &p);
    assert_int_equal(p.n_hands, 0);
    sweep(&w, 1, 10, 1000);
    split(&w, &p);
    assert_int_equal(p.n_hands, 0);
    sched_plan_free(&p);
}

static void test_jobs_of_unknown_length_fill_the_slots_and_no_more(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000);
    worker(&w, 4, 0);
    worker(&w, 2, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 4);
    assert_int_equal(given(&p, 1, 0), 2);
    sched_plan_free(&p);
}

static void test_few_jobs_spread_over_the_workers(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 2, 1000);
    worker(&w, 4, 0);
    worker(&w, 4, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 1);
    assert_int_equal(given(&p, 1, 0), 1);
    sched_plan_free(&p);
}

static void test_what_a_worker_holds_counts(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 10, 1000);
    worker(&w, 4, 0);
    load(&w, 0, 0, 1, 3, 1000);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 1);
    sched_plan_free(&p);
}

static void test_fractions_of_processors_and_gpus_share_a_machine(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 250)->gpus_milli = 500;
    worker(&w, 8, 2);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 4);
    sched_plan_free(&p);
}

static void test_memory_limits_how_many(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000)->memory_bytes = INT64_C(20) << 30;
    worker(&w, 16, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 3);
    sched_plan_free(&p);
}

static void test_node_lists_hold(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    w.some[1] = true;
    sweep(&w, 1, 10, 1000)->may_use = w.some;
    sweep(&w, 1, 10, 1000)->may_use = w.none;
    worker(&w, 4, 0);
    worker(&w, 4, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, ANY), 0);
    assert_int_equal(given(&p, 1, 0), 4);
    assert_int_equal(given(&p, ANY, 1), 0);
    sched_plan_free(&p);
}

static void test_two_users_get_equal_parts_however_many_sweeps_they_have(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000);
    sweep(&w, 1, 100, 1000);
    sweep(&w, 1, 100, 1000);
    sweep(&w, 2, 100, 1000);
    worker(&w, 8, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 3), 4);
    assert_int_equal(given(&p, 0, 0) + given(&p, 0, 1) + given(&p, 0, 2), 4);
    sched_plan_free(&p);
}

static void test_a_user_who_holds_much_waits_for_the_other(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000);
    sweep(&w, 2, 100, 1000);
    worker(&w, 8, 0);
    load(&w, 0, 0, 1, 4, 1000);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 1), 4);
    assert_int_equal(given(&p, 0, 0), 0);
    sched_plan_free(&p);
}

static void test_shares_count_the_scarcer_of_processors_and_gpus(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000)->gpus_milli = 1000;
    sweep(&w, 2, 100, 1000);
    worker(&w, 12, 2);
    load(&w, 0, 0, 1, 1, 1000)->gpus_milli = 1000; /* half of all GPUs */
    load(&w, 0, 1, 2, 5, 1000);                    /* less than half of the processors */
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 1);
    assert_int_equal(given(&p, 0, 1), 5);
    sched_plan_free(&p);
}

static void test_sweeps_of_one_user_share_evenly_unless_priority_says_otherwise(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000);
    sweep(&w, 1, 100, 1000);
    worker(&w, 8, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 4);
    assert_int_equal(given(&p, 0, 1), 4);
    sched_plan_free(&p);
    w.sweeps[1].priority = 10;
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 0);
    assert_int_equal(given(&p, 0, 1), 8);
    sched_plan_free(&p);
}

static void test_one_users_priority_does_not_move_another_user(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000)->priority = 1000;
    sweep(&w, 2, 100, 1000)->priority = -1000;
    worker(&w, 8, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 4);
    assert_int_equal(given(&p, 0, 1), 4);
    sched_plan_free(&p);
}

static void test_caps_hold_with_what_runs_already(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000)->gpus_milli = 1000;
    worker(&w, 16, 8);
    load(&w, 0, 0, 1, 2, 1000)->gpus_milli = 1000;
    w.in.limits.gpus_per_user_milli = 5000;
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 3);
    sched_plan_free(&p);
    w.in.limits.jobs_per_user = 3;
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 1);
    sched_plan_free(&p);
    w.in.limits.cpus_per_user_milli = 2000;
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 0);
    sched_plan_free(&p);
}

static void test_short_jobs_are_sent_about_a_second_ahead(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100000, 1000)->mean_ms = 10;
    worker(&w, 2, 0);
    split(&w, &p);
    assert_in_range(given(&p, 0, 0), 150, 202);
    sched_plan_free(&p);
}

static void test_long_jobs_are_not_sent_ahead(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 1000, 1000)->mean_ms = 5000;
    worker(&w, 2, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 2);
    sched_plan_free(&p);
}

static void test_a_worker_with_work_enough_is_not_topped_up_job_by_job(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100000, 1000)->mean_ms = 10;
    worker(&w, 2, 0);
    load(&w, 0, 0, 1, 150, 1000)->mean_ms = 10;
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 0);
    sched_plan_free(&p);
    w.loads[0].jobs = 50;
    split(&w, &p);
    assert_in_range(given(&p, 0, 0), 100, 150);
    sched_plan_free(&p);
}

static void test_the_tail_is_spread_evenly(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 40, 1000)->mean_ms = 1;
    worker(&w, 2, 0);
    worker(&w, 2, 0);
    split(&w, &p);
    assert_in_range(given(&p, 0, 0), 2, 12);
    assert_in_range(given(&p, 1, 0), 2, 12);
    assert_true(given(&p, ANY, 0) < 40);
    sched_plan_free(&p);
}

static void test_a_big_job_that_waited_long_gets_the_next_room(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 1, 4000);
    sweep(&w, 2, 100, 1000);
    worker(&w, 4, 0);
    load(&w, 0, 1, 2, 3, 1000);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 1), 1);
    sched_plan_free(&p);
    w.sweeps[0].waited_ms = SCHED_PATIENCE_MS;
    split(&w, &p);
    assert_int_equal(given(&p, 0, ANY), 0);
    sched_plan_free(&p);
}

static void test_a_job_too_big_for_every_machine_holds_up_nobody(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 1, 64000)->waited_ms = 10 * SCHED_PATIENCE_MS;
    sweep(&w, 2, 100, 1000);
    worker(&w, 4, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 1), 4);
    sched_plan_free(&p);
}

static void test_surplus_goes_back_when_another_stands_idle(void **state)
{
    struct world w;
    struct sched_plan p;
    struct sched_load *l;

    (void)state;
    world_begin(&w);
    worker(&w, 2, 0);
    worker(&w, 2, 0);
    l = load(&w, 0, SIZE_MAX, 1, 12, 1000);
    l->unstarted = 10;
    l->mean_ms = 100;
    split(&w, &p);
    assert_int_equal(p.n_recalls, 1);
    assert_int_equal(p.recalls[0].jobs, 5);
    sched_plan_free(&p);
    l->may_use = w.none;
    split(&w, &p);
    assert_int_equal(p.n_recalls, 0);
    sched_plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_queued_or_nobody_there_gives_no_hands),
        cmocka_unit_test(test_jobs_of_unknown_length_fill_the_slots_and_no_more),
        cmocka_unit_test(test_few_jobs_spread_over_the_workers),
        cmocka_unit_test(test_what_a_worker_holds_counts),
        cmocka_unit_test(test_fractions_of_processors_and_gpus_share_a_machine),
        cmocka_unit_test(test_memory_limits_how_many),
        cmocka_unit_test(test_node_lists_hold),
        cmocka_unit_test(test_two_users_get_equal_parts_however_many_sweeps_they_have),
        cmocka_unit_test(test_a_user_who_holds_much_waits_for_the_other),
        cmocka_unit_test(test_shares_count_the_scarcer_of_processors_and_gpus),
        cmocka_unit_test(test_sweeps_of_one_user_share_evenly_unless_priority_says_otherwise),
        cmocka_unit_test(test_one_users_priority_does_not_move_another_user),
        cmocka_unit_test(test_caps_hold_with_what_runs_already),
        cmocka_unit_test(test_short_jobs_are_sent_about_a_second_ahead),
        cmocka_unit_test(test_long_jobs_are_not_sent_ahead),
        cmocka_unit_test(test_a_worker_with_work_enough_is_not_topped_up_job_by_job),
        cmocka_unit_test(test_the_tail_is_spread_evenly),
        cmocka_unit_test(test_a_big_job_that_waited_long_gets_the_next_room),
        cmocka_unit_test(test_a_job_too_big_for_every_machine_holds_up_nobody),
        cmocka_unit_test(test_surplus_goes_back_when_another_stands_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

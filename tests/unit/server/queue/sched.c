/* SPDX-License-Identifier: MIT */
/* sched.c - tests of how queued jobs are split over workers */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "server/queue/sched.h"

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

    *k = (struct sched_worker){ .id = (int64_t)w->in.n_workers,
                                .cpus_milli = 1000 * cpus,
                                .gpus_milli = 1000 * gpus,
                                .memory_bytes = INT64_C(64) << 30 };
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

static void test_who_takes_one_job_gets_no_other(void **state)
{
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 100, 1000)->mean_ms = 10;
    worker(&w, 4, 0)->takes_one = true;
    worker(&w, 4, 0)->takes_one = true;
    load(&w, 1, 0, 1, 1, 1000);
    split(&w, &p);
    assert_int_equal(given(&p, 0, ANY), 1);
    assert_int_equal(given(&p, 1, ANY), 0);
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

/* ---- data ---- */

enum { SECOND_MS = 1000, MINUTE_MS = 60 * 1000, FOREVER_MS = 100 * 3600 * 1000 };

/* One sweep with data that the first worker holds, and to bring which to the second takes so long. */
struct data_case {
    const char *what;
    int64_t ready, mean_ms, waited_ms, takes_ms;
    int64_t taken;     /* of the first worker's 4 processors, */
    int64_t taken_ms;  /* by jobs of this length */
    int64_t at_holder; /* expected */
    int64_t at_other;
    int64_t again_ms;
};

static const struct data_case data_cases[] = {
    { "who holds the data gets what it has room for, others nothing that fits there", .ready = 3,
      .takes_ms = MINUTE_MS, .at_holder = 3 },
    { "what does not fit waits for as long as bringing the data takes", .ready = 9,
      .takes_ms = 10 * SECOND_MS, .at_holder = 4, .again_ms = 10 * SECOND_MS },
    { "or a little longer than it has waited already", .ready = 9, .takes_ms = 10 * SECOND_MS,
      .waited_ms = 9 * SECOND_MS, .taken = 4, .again_ms = SECOND_MS },
    { "and then goes to the free one", .ready = 9, .takes_ms = 10 * SECOND_MS,
      .waited_ms = 10 * SECOND_MS, .at_holder = 4, .at_other = 4 },
    { "nobody waits longer than a while, however much there is to bring", .ready = 9,
      .takes_ms = FOREVER_MS, .waited_ms = SCHED_DATA_PATIENCE_MS, .at_holder = 4, .at_other = 4 },
    { "a short while has an end that the scheduler names", .ready = 9, .takes_ms = FOREVER_MS,
      .taken = 4, .again_ms = SCHED_DATA_PATIENCE_MS },
    { "a long queue goes to the free one at once", .ready = 40, .mean_ms = MINUTE_MS,
      .takes_ms = 30 * SECOND_MS, .at_holder = 4, .at_other = 4 },
    { "a queue that ends before the data were there waits", .ready = 8, .mean_ms = 2 * SECOND_MS,
      .takes_ms = 30 * SECOND_MS, .at_holder = 4, .again_ms = 30 * SECOND_MS },
    { "unless others keep those busy that hold them", .ready = 4, .mean_ms = 2 * SECOND_MS,
      .takes_ms = 30 * SECOND_MS, .taken = 4, .taken_ms = MINUTE_MS, .at_other = 4 },
    { "little data are brought at once", .ready = 8, .takes_ms = SCHED_STAGE_MIN_MS - 1,
      .at_holder = 4, .at_other = 4 },
};

static void check_data_case(const struct data_case *c)
{
    int64_t stage_ms[MAX] = { 0, c->takes_ms };
    struct sched_sweep *s;
    struct world w;
    struct sched_plan p;

    world_begin(&w);
    s = sweep(&w, 1, c->ready, 1000);
    s->mean_ms = c->mean_ms;
    s->waited_ms = c->waited_ms;
    s->stage_ms = stage_ms;
    worker(&w, 4, 0);
    worker(&w, 4, 0);
    if (c->taken > 0)
        load(&w, 0, ANY, 2, c->taken, 1000)->mean_ms = c->taken_ms;
    split(&w, &p);
    if (given(&p, 0, 0) != c->at_holder || given(&p, 1, 0) != c->at_other ||
        p.again_ms != c->again_ms)
        fail_msg("%s: %d, %d, again in %d ms", c->what, (int)given(&p, 0, 0), (int)given(&p, 1, 0),
                 (int)p.again_ms);
    sched_plan_free(&p);
}

static void test_jobs_go_where_their_data_lie_or_wait_a_little(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof data_cases / sizeof data_cases[0]; i++)
        check_data_case(&data_cases[i]);
}

static void test_data_that_nobody_holds_are_brought_to_all(void **state)
{
    int64_t stage_ms[MAX] = { MINUTE_MS, MINUTE_MS };
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 9, 1000)->stage_ms = stage_ms;
    worker(&w, 4, 0);
    worker(&w, 4, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 4);
    assert_int_equal(given(&p, 1, 0), 4);
    assert_int_equal(p.again_ms, 0);
    sched_plan_free(&p);
}

static void test_one_that_holds_the_data_but_may_not_be_used_is_not_waited_for(void **state)
{
    int64_t stage_ms[MAX] = { 0, MINUTE_MS };
    struct sched_sweep *s;
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    s = sweep(&w, 1, 9, 1000);
    s->stage_ms = stage_ms;
    s->may_use = w.some;
    w.some[1] = true;
    worker(&w, 4, 0);
    worker(&w, 4, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 1, 0), 4);
    sched_plan_free(&p);
}

static void test_who_waits_for_data_keeps_nobody_from_the_free_worker(void **state)
{
    int64_t stage_ms[MAX] = { 0, MINUTE_MS };
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    sweep(&w, 1, 9, 1000)->stage_ms = stage_ms;
    sweep(&w, 2, 9, 1000);
    worker(&w, 4, 0);
    worker(&w, 4, 0);
    split(&w, &p);
    assert_int_equal(given(&p, 1, 0), 0);
    assert_int_equal(given(&p, 1, 1), 4);
    assert_true(given(&p, 0, 0) > 0);
    sched_plan_free(&p);
}

static void test_short_jobs_are_sent_ahead_only_where_their_data_lie(void **state)
{
    int64_t stage_ms[MAX] = { 0, MINUTE_MS };
    struct sched_sweep *s;
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    s = sweep(&w, 1, 100, 1000);
    s->stage_ms = stage_ms;
    s->mean_ms = 10;
    worker(&w, 4, 0);
    worker(&w, 4, 0);
    split(&w, &p);
    assert_true(given(&p, 0, 0) > 4);
    assert_int_equal(given(&p, 1, 0), 0);
    sched_plan_free(&p);
}

static void test_surplus_stays_where_its_data_lie(void **state)
{
    int64_t stage_ms[MAX] = { 0, MINUTE_MS };
    struct world w;
    struct sched_load *l;
    struct sched_plan p;

    (void)state;
    for (int is_far = 0; is_far <= 1; is_far++) {
        world_begin(&w);
        worker(&w, 4, 0);
        worker(&w, 4, 0);
        l = load(&w, 0, ANY, 1, 12, 1000);
        l->unstarted = 8;
        l->mean_ms = SECOND_MS;
        l->stage_ms = is_far ? stage_ms : NULL;
        split(&w, &p);
        assert_int_equal(p.n_recalls, is_far ? 0 : 1);
        sched_plan_free(&p);
    }
}

/* ---- data of jobs that come next ---- */

static bool expects(const struct sched_plan *p, size_t worker_index, size_t sweep_index)
{
    for (size_t i = 0; i < p->n_expectations; i++)
        if (p->expectations[i].worker == worker_index && p->expectations[i].sweep == sweep_index)
            return true;
    return false;
}

/* Two workers of one processor each, both busy with somebody else's jobs. */
static void world_begin_busy(struct world *w)
{
    world_begin(w);
    worker(w, 1, 0);
    worker(w, 1, 0);
    load(w, 0, ANY, 9, 1, 1000);
    load(w, 1, ANY, 9, 1, 1000);
}

static const struct next_case {
    const char *what;
    int64_t ready, mean_ms;
    int64_t takes_ms[2]; /* on each of the workers */
    bool at[2];          /* expected */
} next_cases[] = {
    { "each busy worker brings the data of the job that it may get next",
      9,
      0,
      { 10, 10 },
      { true, true } },
    { "there are no more of them than jobs", 1, 0, { 10, 10 }, { true, false } },
    { "those who hold the data come first, and have nothing to bring",
      1,
      0,
      { 10, 0 },
      { false, false } },
    { "others follow when there are more jobs", 2, 0, { 10, 0 }, { true, false } },
    { "unless those are through with them before", 2, 10, { MINUTE_MS, 0 }, { false, false } },
    { "what is small enough is nobody's worry", 9, 0, { 0, 0 }, { false, false } },
    { "without a job nothing is brought", 0, 0, { 10, 10 }, { false, false } },
};

static void check_next_case(const struct next_case *c)
{
    struct sched_sweep *s;
    struct world w;
    struct sched_plan p;

    world_begin_busy(&w);
    s = sweep(&w, 1, c->ready, 1000);
    s->mean_ms = c->mean_ms;
    s->stage_ms = c->takes_ms;
    split(&w, &p);
    if (p.n_hands > 0 || expects(&p, 0, 0) != c->at[0] || expects(&p, 1, 0) != c->at[1] ||
        p.n_expectations != (size_t)(c->at[0] + c->at[1]))
        fail_msg("%s: %d, %d", c->what, expects(&p, 0, 0), expects(&p, 1, 0));
    sched_plan_free(&p);
}

static void test_busy_workers_are_told_whose_data_come_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof next_cases / sizeof next_cases[0]; i++)
        check_next_case(&next_cases[i]);
}

static void test_who_has_room_is_given_jobs_and_expects_none(void **state)
{
    const int64_t stage_ms[MAX] = { MINUTE_MS };
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin(&w);
    worker(&w, 2, 0);
    sweep(&w, 1, 1, 1000)->stage_ms = stage_ms;
    split(&w, &p);
    assert_int_equal(given(&p, 0, 0), 1);
    assert_int_equal(p.n_expectations, 0);
    sched_plan_free(&p);
}

static void test_the_next_job_is_of_whoever_comes_next(void **state)
{
    const int64_t stage_ms[MAX] = { 10, 10 };
    struct sched_sweep *s;
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin_busy(&w);
    sweep(&w, 1, 9, 1000)->stage_ms = stage_ms;
    s = sweep(&w, 1, 1, 1000);
    s->priority = 1;
    s->stage_ms = stage_ms;
    split(&w, &p);
    assert_true(expects(&p, 0, 1) && expects(&p, 1, 0));
    assert_int_equal(p.n_expectations, 2);
    sched_plan_free(&p);
    w.sweeps[1].uid = 2;
    w.sweeps[1].ready = 9;
    split(&w, &p);
    assert_true(expects(&p, 0, 0) && expects(&p, 1, 1)); /* they take turns */
    sched_plan_free(&p);
}

static void test_data_are_brought_only_where_the_job_may_run(void **state)
{
    const int64_t stage_ms[MAX] = { 10, 10 };
    struct sched_sweep *s;
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin_busy(&w);
    s = sweep(&w, 1, 9, 1000);
    s->stage_ms = stage_ms;
    s->may_use = w.some;
    w.some[1] = true;
    split(&w, &p);
    assert_true(expects(&p, 1, 0));
    assert_int_equal(p.n_expectations, 1);
    sched_plan_free(&p);
    s->cpus_milli = 2000;
    split(&w, &p);
    assert_int_equal(p.n_expectations, 0);
    sched_plan_free(&p);
}

static void test_who_may_have_no_more_expects_it_where_theirs_end(void **state)
{
    const int64_t stage_ms[MAX] = { 10, 10 };
    struct world w;
    struct sched_plan p;

    (void)state;
    world_begin_busy(&w);
    w.loads[1].uid = 1;
    sweep(&w, 1, 9, 1000)->stage_ms = stage_ms;
    w.in.limits.jobs_per_user = 1;
    split(&w, &p);
    assert_true(expects(&p, 1, 0));
    assert_int_equal(p.n_expectations, 1);
    sched_plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_queued_or_nobody_there_gives_no_hands),
        cmocka_unit_test(test_who_takes_one_job_gets_no_other),
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
        cmocka_unit_test(test_jobs_go_where_their_data_lie_or_wait_a_little),
        cmocka_unit_test(test_data_that_nobody_holds_are_brought_to_all),
        cmocka_unit_test(test_one_that_holds_the_data_but_may_not_be_used_is_not_waited_for),
        cmocka_unit_test(test_who_waits_for_data_keeps_nobody_from_the_free_worker),
        cmocka_unit_test(test_short_jobs_are_sent_ahead_only_where_their_data_lie),
        cmocka_unit_test(test_surplus_stays_where_its_data_lie),
        cmocka_unit_test(test_busy_workers_are_told_whose_data_come_next),
        cmocka_unit_test(test_who_has_room_is_given_jobs_and_expects_none),
        cmocka_unit_test(test_the_next_job_is_of_whoever_comes_next),
        cmocka_unit_test(test_data_are_brought_only_where_the_job_may_run),
        cmocka_unit_test(test_who_may_have_no_more_expects_it_where_theirs_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

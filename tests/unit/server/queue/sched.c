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

/* ---- hands ---- */

/* So many jobs of a sweep for a worker, at least and at most. */
struct expected_hand {
    bool is_expected; /* false ends the list */
    size_t worker, sweep;
    int64_t least, most;
};

#define GETS_BETWEEN(worker, sweep, least, most) \
    {                                            \
        true, worker, sweep, least, most         \
    }
#define GETS(worker, sweep, jobs) GETS_BETWEEN(worker, sweep, jobs, jobs)

/* Sweeps end with one of no user, workers and loads with one of no processors and no jobs.  A sweep
 * without may_use may use all workers.  Jobs take one processor where the case says nothing. */
struct hand_case {
    const char *what;
    struct sched_sweep sweeps[5];
    struct sched_worker workers[3];
    struct sched_load loads[3];
    struct sched_limits limits;
    struct expected_hand expected[3 + 1];
};

#define CPUS(n) .cpus_milli = 1000 * INT64_C(n)
#define GPUS(n) .gpus_milli = 1000 * INT64_C(n)
#define ONE_GPU GPUS(1)

static const bool nowhere[MAX] = { false }, on_first[MAX] = { true },
                  on_second[MAX] = { false, true };

static const struct hand_case hand_cases[] = {
    { "nobody is there", { { .uid = 1, .ready = 10 } }, .expected = { GETS(ANY, ANY, 0) } },
    { "nothing is queued", .workers = { { CPUS(4) } }, .expected = { GETS(ANY, ANY, 0) } },
    { "a worker that takes one job gets no other",
      { { .uid = 1, .ready = 100, .mean_ms = 10 } },
      { { CPUS(4), .takes_one = true }, { CPUS(4), .takes_one = true } },
      { { .worker = 1, .uid = 1, .jobs = 1 } },
      .expected = { GETS(0, ANY, 1), GETS(1, ANY, 0) } },
    { "jobs of unknown length fill the slots and no more",
      { { .uid = 1, .ready = 100 } },
      { { CPUS(4) }, { CPUS(2) } },
      .expected = { GETS(0, 0, 4), GETS(1, 0, 2) } },
    { "few jobs are spread over the workers",
      { { .uid = 1, .ready = 2 } },
      { { CPUS(4) }, { CPUS(4) } },
      .expected = { GETS(0, 0, 1), GETS(1, 0, 1) } },
    { "what a worker holds counts",
      { { .uid = 1, .ready = 10 } },
      { { CPUS(4) } },
      { { .uid = 1, .jobs = 3 } },
      .expected = { GETS(0, 0, 1) } },
    { "fractions of processors and GPUs share a machine",
      { { .uid = 1, .ready = 100, .cpus_milli = 250, .gpus_milli = 500 } },
      { { CPUS(8), GPUS(2) } },
      .expected = { GETS(0, 0, 4) } },
    { "memory limits how many",
      { { .uid = 1, .ready = 100, .memory_bytes = INT64_C(20) << 30 } },
      { { CPUS(16) } },
      .expected = { GETS(0, 0, 3) } },
    { "room on scratch limits how many, and jobs that ask for none are not concerned",
      { { .uid = 1, .ready = 100, .disk_bytes = INT64_C(20) << 30 },
        { .uid = 1, .ready = 3, .priority = -1 } },
      { { CPUS(16), .disk_bytes = INT64_C(90) << 30 } },
      { { .uid = 1, .jobs = 2, .disk_bytes = INT64_C(20) << 30 } },
      .expected = { GETS(0, 0, 2), GETS(0, 1, 3) } },
    { "lists of nodes hold",
      { { .uid = 1, .ready = 10, .may_use = on_second },
        { .uid = 1, .ready = 10, .may_use = nowhere } },
      { { CPUS(4) }, { CPUS(4) } },
      .expected = { GETS(0, ANY, 0), GETS(1, 0, 4), GETS(ANY, 1, 0) } },
    { "a user of one sweep gets as much as a user of three",
      { { .uid = 1, .ready = 100 },
        { .uid = 1, .ready = 100 },
        { .uid = 1, .ready = 100 },
        { .uid = 2, .ready = 100 } },
      { { CPUS(8) } },
      .expected = { GETS(0, 3, 4), GETS(0, ANY, 8) } },
    { "a user that holds much waits for the other",
      { { .uid = 1, .ready = 100 }, { .uid = 2, .ready = 100 } },
      { { CPUS(8) } },
      { { .uid = 1, .jobs = 4 } },
      .expected = { GETS(0, 1, 4), GETS(0, 0, 0) } },
    { "half of all GPUs is more than five of twelve processors",
      { { .uid = 1, .ready = 100, ONE_GPU }, { .uid = 2, .ready = 100 } },
      { { CPUS(12), GPUS(2) } },
      { { .uid = 1, .jobs = 1, ONE_GPU }, { .uid = 2, .sweep = 1, .jobs = 5 } },
      .expected = { GETS(0, 0, 1), GETS(0, 1, 5) } },
    { "a worker that a user brings changes nothing in how others share",
      { { .uid = 1, .ready = 100, .may_use = on_first, ONE_GPU },
        { .uid = 2, .ready = 100, .may_use = on_first, ONE_GPU, CPUS(4) } },
      { { CPUS(64), GPUS(8) }, { CPUS(1), GPUS(10000), .is_private = true, .uid = 3 } },
      .expected = { GETS(0, 0, 4), GETS(0, 1, 4) } },
    { "nor does it help or harm its user, where all share",
      { { .uid = 1, .ready = 100 }, { .uid = 2, .ready = 100, .may_use = on_first } },
      { { CPUS(8) }, { CPUS(1000), .is_private = true, .uid = 1 } },
      { { .worker = 1, .uid = 1, .jobs = 1000 } },
      .expected = { GETS(0, 0, 4), GETS(0, 1, 4) } },
    { "and there the sweeps of that user share evenly",
      { { .uid = 1, .ready = 100 }, { .uid = 1, .ready = 100 } },
      { { CPUS(8), .is_private = true, .uid = 1 } },
      { { .uid = 1, .sweep = 0, .jobs = 2 } },
      .expected = { GETS(0, 0, 2), GETS(0, 1, 4) } },
    { "sweeps of one user share evenly",
      { { .uid = 1, .ready = 100 }, { .uid = 1, .ready = 100 } },
      { { CPUS(8) } },
      .expected = { GETS(0, 0, 4), GETS(0, 1, 4) } },
    { "unless their priorities differ",
      { { .uid = 1, .ready = 100 }, { .uid = 1, .ready = 100, .priority = 10 } },
      { { CPUS(8) } },
      .expected = { GETS(0, 0, 0), GETS(0, 1, 8) } },
    { "the priority of one user does not move another user",
      { { .uid = 1, .ready = 100, .priority = 1000 },
        { .uid = 2, .ready = 100, .priority = -1000 } },
      { { CPUS(8) } },
      .expected = { GETS(0, 0, 4), GETS(0, 1, 4) } },
    { "the limit of GPUs counts those that are in use",
      { { .uid = 1, .ready = 100, ONE_GPU } },
      { { CPUS(16), GPUS(8) } },
      { { .uid = 1, .jobs = 2, ONE_GPU } },
      { .gpus_per_user_milli = 5000 },
      { GETS(0, 0, 3) } },
    { "so does the limit of jobs",
      { { .uid = 1, .ready = 100, ONE_GPU } },
      { { CPUS(16), GPUS(8) } },
      { { .uid = 1, .jobs = 2, ONE_GPU } },
      { .gpus_per_user_milli = 5000, .jobs_per_user = 3 },
      { GETS(0, 0, 1) } },
    { "and the limit of processors",
      { { .uid = 1, .ready = 100, ONE_GPU } },
      { { CPUS(16), GPUS(8) } },
      { { .uid = 1, .jobs = 2, ONE_GPU } },
      { .gpus_per_user_milli = 5000, .cpus_per_user_milli = 2000, .jobs_per_user = 3 },
      { GETS(0, 0, 0) } },
    { "short jobs are sent about a second ahead",
      { { .uid = 1, .ready = 100000, .mean_ms = 10 } },
      { { CPUS(2) } },
      .expected = { GETS_BETWEEN(0, 0, 150, 202) } },
    { "long jobs are not sent ahead",
      { { .uid = 1, .ready = 1000, .mean_ms = 5000 } },
      { { CPUS(2) } },
      .expected = { GETS(0, 0, 2) } },
    { "a worker with work enough is not topped up job by job",
      { { .uid = 1, .ready = 100000, .mean_ms = 10 } },
      { { CPUS(2) } },
      { { .uid = 1, .jobs = 150, .mean_ms = 10 } },
      .expected = { GETS(0, 0, 0) } },
    { "but when a good part of it is done",
      { { .uid = 1, .ready = 100000, .mean_ms = 10 } },
      { { CPUS(2) } },
      { { .uid = 1, .jobs = 50, .mean_ms = 10 } },
      .expected = { GETS_BETWEEN(0, 0, 100, 150) } },
    { "the tail is spread evenly, and not sent whole",
      { { .uid = 1, .ready = 40, .mean_ms = 1 } },
      { { CPUS(2) }, { CPUS(2) } },
      .expected = { GETS_BETWEEN(0, 0, 2, 12), GETS_BETWEEN(1, 0, 2, 12) } },
    { "small jobs fill the room that a big job waits for",
      { { .uid = 1, .ready = 1, CPUS(4) }, { .uid = 2, .ready = 100 } },
      { { CPUS(4) } },
      { { .uid = 2, .sweep = 1, .jobs = 3 } },
      .expected = { GETS(0, 1, 1) } },
    { "but not when it has waited long",
      { { .uid = 1, .ready = 1, CPUS(4), .waited_ms = SCHED_PATIENCE_MS },
        { .uid = 2, .ready = 100 } },
      { { CPUS(4) } },
      { { .uid = 2, .sweep = 1, .jobs = 3 } },
      .expected = { GETS(0, ANY, 0) } },
    { "a job too big for every machine holds up nobody",
      { { .uid = 1, .ready = 1, CPUS(64), .waited_ms = 10 * SCHED_PATIENCE_MS },
        { .uid = 2, .ready = 100 } },
      { { CPUS(4) } },
      .expected = { GETS(0, 1, 4) } },
};

static void check_hand_case(const struct hand_case *c)
{
    struct world w;
    struct sched_plan p;

    world_begin(&w);
    for (const struct sched_sweep *s = c->sweeps; s->uid != 0; s++) {
        struct sched_sweep *to = sweep(&w, s->uid, s->ready, 0);
        int64_t id = to->id;

        *to = *s;
        to->id = id;
        to->cpus_milli = s->cpus_milli > 0 ? s->cpus_milli : 1000;
        to->may_use = s->may_use != NULL ? s->may_use : w.all;
    }
    for (const struct sched_worker *k = c->workers; k->cpus_milli != 0; k++) {
        struct sched_worker *to = worker(&w, k->cpus_milli / 1000, k->gpus_milli / 1000);

        to->takes_one = k->takes_one;
        to->disk_bytes = k->disk_bytes;
        to->is_private = k->is_private;
        to->uid = k->uid;
    }
    for (const struct sched_load *l = c->loads; l->jobs != 0; l++) {
        struct sched_load *to = load(&w, l->worker, l->sweep, l->uid, l->jobs, 1000);

        to->gpus_milli = l->gpus_milli;
        to->disk_bytes = l->disk_bytes;
        to->mean_ms = l->mean_ms;
    }
    w.in.limits = c->limits;
    split(&w, &p);
    for (const struct expected_hand *x = c->expected; x->is_expected; x++) {
        int64_t jobs = given(&p, x->worker, x->sweep);

        if (jobs < x->least || jobs > x->most)
            fail_msg("%s: worker %d gets %d of sweep %d", c->what, (int)x->worker, (int)jobs,
                     (int)x->sweep);
    }
    sched_plan_free(&p);
}

static void test_queued_jobs_are_split_over_the_workers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hand_cases / sizeof hand_cases[0]; i++)
        check_hand_case(&hand_cases[i]);
}

/* ---- recalls ---- */

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
        cmocka_unit_test(test_queued_jobs_are_split_over_the_workers),
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

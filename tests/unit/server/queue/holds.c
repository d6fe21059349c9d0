/* SPDX-License-Identifier: MIT */
/* holds.c - tests of what is held, what lifts that, and what users make of it */

#include "tests/unit/server_player.h"

#include <time.h>

#include "server/queue/holds.h"

enum { CPUS = 2 };

static const char *const optimizers[] = { "adam", "lion", "sgd" };

/* A sweep of n_x times three optimizers, of which a worker has been handed the first jobs. */
static int64_t submit_grid(struct scene *s, struct submit submit, int64_t n_x)
{
    struct buf configs = { 0 };

    submit_begin(s->client, &submit);
    for (int64_t x = 1; x <= n_x; x++) {
        buf_clear(&configs);
        mp_add_list(&configs, 3);
        for (int i = 0; i < 3; i++) {
            mp_add_map(&configs, 2);
            mp_add_str(&configs, "opt", 3);
            mp_add_str(&configs, optimizers[i], strlen(optimizers[i]));
            mp_add_str(&configs, "x", 1);
            mp_add_int(&configs, x);
        }
        submit_bytes(s->client, &submit, buf_bytes(&configs), 3);
    }
    buf_free(&configs);
    return submit_end(s->client, &submit).sweep;
}

static struct submit guarded(void)
{
    struct submit submit = submit_of("p", 1);

    submit.begin.guard.off = false;
    return submit;
}

static struct scene *grid(int64_t n_x)
{
    struct scene *s = scene_open();

    s->sweep = submit_grid(s, guarded(), n_x);
    join(s->f, &s->w, "n1", CPUS);
    return s;
}

static void scene_close(struct scene *s)
{
    void *state = s;

    tear_down(&state);
}

/* The optimizer of a job of the grid. */
static const char *optimizer_of(int64_t no)
{
    return optimizers[(no - 1) % 3];
}

static void fails(struct scene *s, const struct assignment *a, const char *reason)
{
    assert_int_equal(report(&s->w, (struct report){ .token = a->token,
                                                    .event = EV_FAIL,
                                                    .cause = CAUSE_FAILED,
                                                    .exit_code = 1,
                                                    .reason = reason,
                                                    .at = 5000,
                                                    .started_at = 4000,
                                                    .ended_at = 5000 }),
                     VERDICT_TAKEN);
}

/* Ends what the worker is handed, from *at on, as the optimizer has it, until n have ended. */
static void go_on(struct scene *s, size_t *at, size_t n, const char *broken)
{
    for (; n > 0 && *at < s->w.n_hand; n--) {
        const struct assignment *a = &s->w.hand[(*at)++];

        if (broken != NULL && strcmp(optimizer_of(a->job), broken) == 0)
            fails(s, a, "exit code 1: no module lion");
        else
            tell(&s->w, a, EV_DONE);
        listen_to(&s->w);
    }
}

static struct job_counts counts(struct scene *s)
{
    return sweep_of(s->client, s->sweep).jobs;
}

static void resume(struct scene *s, int64_t first, int64_t last)
{
    struct target target = { s->sweep, first, last };
    struct msg_resume body = { .targets = { &target, 1 } };

    peer_ask(s->client, MSG_RESUME, &body, NULL);
    listen_to(&s->w);
}

/* ---- making ---- */

static void three_failures_hold_the_rest_of_a_sweep(void **state)
{
    struct scene *s = grid(10);
    struct sweep_info info;
    struct job_info job;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(counts(s).held, 0);
        fails(s, &s->w.hand[i], "exit code 1: broken at step 12");
    }
    listen_to(&s->w);
    info = sweep_of(s->client, s->sweep);
    /* One was given out when the third failed; as it has not begun, it is asked for again. */
    assert_int_equal(s->w.n_hand, 4);
    assert_int_equal(s->w.n_recalled, 1);
    assert_int_equal(info.jobs.failed, 3);
    assert_int_equal(info.jobs.held, 26);
    assert_int_equal(info.jobs.queued, 1);
    assert_int_equal(info.state, SWEEP_RUNNING);
    assert_int_equal(tell(&s->w, &s->w.hand[3], EV_RECALL), VERDICT_TAKEN);
    info = sweep_of(s->client, s->sweep);
    assert_int_equal(info.jobs.held, 27);
    assert_int_equal(info.state, SWEEP_HELD);
    assert_string_equal(info.held, "held: the first 3 configurations failed: broken at step 12 "
                                   "(ludwig resume 1 runs the others)");
    job = job_of(s->client, s->sweep, 30);
    assert_int_equal(job.state, JOB_HELD);
    assert_string_equal(job.reason, info.held);
    assert_int_equal(s->w.n_hand, 4);
    scene_close(s);
}

static void a_value_is_held_where_others_end_well(void **state)
{
    struct scene *s = grid(10);
    size_t at = 0;
    struct sweep_info info;

    (void)state;
    go_on(s, &at, 9, "lion");
    info = sweep_of(s->client, s->sweep);
    assert_int_equal(info.jobs.failed, 3);
    assert_int_equal(info.jobs.held, 7);
    assert_string_equal(info.held, "held: opt=lion failed 3 of 3: no module lion (ludwig resume 1 "
                                   "--where 'opt=lion' runs them)");
    for (int64_t no = 10; no <= 30; no++)
        assert_int_equal(job_of(s->client, s->sweep, no).state == JOB_HELD,
                         strcmp(optimizer_of(no), "lion") == 0);
    /* All others run, and the sweep is held then. */
    go_on(s, &at, SIZE_MAX, "lion");
    info = sweep_of(s->client, s->sweep);
    assert_int_equal(info.jobs.done, 20);
    assert_int_equal(info.jobs.held, 7);
    assert_int_equal(info.state, SWEEP_HELD);
    scene_close(s);
}

static void without_a_guard_all_jobs_run(void **state)
{
    struct scene *s = scene_open();
    struct submit submit = guarded();
    size_t at = 0;

    (void)state;
    submit.begin.guard.off = true;
    s->sweep = submit_grid(s, submit, 4);
    join(s->f, &s->w, "n1", CPUS);
    for (; at < s->w.n_hand; at++)
        fails(s, &s->w.hand[at], "exit code 1: broken");
    assert_int_equal(counts(s).failed, 12);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_FAILED);
    scene_close(s);
}

static void what_the_program_did_not_do_does_not_count(void **state)
{
    struct scene *s = grid(4);

    (void)state;
    for (size_t at = 0; at < s->w.n_hand; at++)
        report(&s->w, (struct report){ .token = s->w.hand[at].token,
                                       .event = EV_FAIL,
                                       .cause = CAUSE_ENVIRONMENT,
                                       .exit_code = SCHEMA_NONE,
                                       .reason = "n1 has no /opt/venv" });
    assert_int_equal(counts(s).held, 0);
    assert_int_equal(counts(s).failed, 12);
    scene_close(s);
}

static void a_large_sweep_is_held_before_more_of_it_is_handed_out(void **state)
{
    struct scene *s = grid(1000);

    (void)state;
    for (int i = 0; i < 3; i++)
        fails(s, &s->w.hand[i], "exit code 1: broken");
    /* How many turns it takes depends on the machine. */
    for (time_t until = time(NULL) + 60; counts(s).held < 2996 && time(NULL) < until;)
        listen_to(&s->w);
    assert_int_equal(counts(s).held, 2996);
    assert_int_equal(s->w.n_hand, 4);
    resume(s, 0, 0);
    for (time_t until = time(NULL) + 60; counts(s).held > 0 && time(NULL) < until;)
        listen_to(&s->w);
    assert_int_equal(counts(s).held, 0);
    scene_close(s);
}

/* ---- lifting ---- */

static void a_success_lifts_the_hold(void **state)
{
    struct scene *s = grid(10);

    (void)state;
    assert_int_equal(s->w.n_hand, CPUS);
    report(&s->w,
           (struct report){ .token = s->w.hand[1].token, .event = EV_RUN, .at = units_now_ms() });
    fails(s, &s->w.hand[0], "exit code 1: broken");
    fails(s, &s->w.hand[2], "exit code 1: broken");
    fails(s, &s->w.hand[3], "exit code 1: broken");
    listen_to(&s->w);
    assert_true(counts(s).held > 0);
    tell(&s->w, &s->w.hand[1], EV_DONE);
    listen_to(&s->w);
    assert_int_equal(counts(s).held, 0);
    assert_null(sweep_of(s->client, s->sweep).held);
    scene_close(s);
}

static void what_a_user_resumes_runs_and_is_counted_anew(void **state)
{
    struct scene *s = grid(10);
    size_t at = 0;

    (void)state;
    go_on(s, &at, SIZE_MAX, "lion");
    assert_int_equal(counts(s).held, 7);
    resume(s, 0, 0);
    assert_int_equal(counts(s).held, 0);
    go_on(s, &at, 2, "lion");
    assert_int_equal(counts(s).failed, 5);
    assert_int_equal(counts(s).held, 0);
    go_on(s, &at, 1, "lion");
    assert_int_equal(counts(s).failed, 6);
    assert_true(counts(s).held > 0);
    scene_close(s);
}

static void one_job_that_is_resumed_runs_alone(void **state)
{
    struct scene *s = grid(10);
    size_t at = 0;

    (void)state;
    go_on(s, &at, SIZE_MAX, "lion");
    resume(s, 29, 29);
    assert_int_equal(s->w.n_hand, at + 1);
    assert_int_equal(s->w.hand[at].job, 29);
    assert_int_equal(counts(s).held, 6);
    go_on(s, &at, 1, "lion");
    assert_int_equal(counts(s).held, 6);
    resume(s, 26, 26);
    go_on(s, &at, 1, NULL);
    assert_int_equal(counts(s).held, 0);
    scene_close(s);
}

static void held_jobs_can_be_cancelled_and_retried(void **state)
{
    struct scene *s = grid(10);
    size_t at = 0;

    (void)state;
    go_on(s, &at, SIZE_MAX, "lion");
    for (int64_t no = 1; no <= 30; no++)
        if (job_of(s->client, s->sweep, no).state == JOB_HELD)
            cancel(s->client, s->sweep, no);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_FAILED);
    assert_int_equal(counts(s).cancelled, 7);
    retry(s->client, s->sweep, 29);
    listen_to(&s->w);
    assert_int_equal(s->w.hand[s->w.n_hand - 1].job, 29);
    scene_close(s);
}

/* After an hour, in which others have ended well. */
static void one_is_tried_again_after_an_hour(void **state)
{
    struct scene *s = grid(20);
    size_t at = 0;

    (void)state;
    go_on(s, &at, 10, "lion");
    assert_int_equal(counts(s).held, 17);
    assert_true(db_run(s->f->sv.db, NULL, SQL_HOLD_TRIED, "ii", (int64_t)1,
                       units_now_ms() - 3601 * 1000) >= 0);
    go_on(s, &at, 2, "lion");
    assert_int_equal(counts(s).held, 16);
    go_on(s, &at, SIZE_MAX, "lion");
    assert_int_equal(counts(s).failed, 4);
    assert_int_equal(counts(s).held, 16);
    assert_non_null(strstr(sweep_of(s->client, s->sweep).held, "opt=lion failed 4 of 4"));
    scene_close(s);
}

/* ---- another ludwigd ---- */

static void a_hold_outlives_ludwigd(void **state)
{
    struct scene *s = grid(10);
    size_t at = 0;

    (void)state;
    go_on(s, &at, 9, "lion");
    assert_int_equal(counts(s).held, 7);
    leave(s);
    peer_close(s->client);
    server_close(&s->f->sv);
    fixture_start(s->f);
    s->client = client_connect(s->f);
    assert_int_equal(counts(s).held, 7);
    at = s->w.n_hand;
    s->w.reg.attempts = (struct list){ 0 };
    join(s->f, &s->w, "n1", CPUS);
    go_on(s, &at, SIZE_MAX, "lion");
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_HELD);
    assert_int_equal(counts(s).held, 7);
    /* It knows again with which values jobs ended well. */
    resume(s, 29, 29);
    go_on(s, &at, 1, NULL);
    assert_int_equal(counts(s).held, 0);
    scene_close(s);
}

/* ---- other sweeps ---- */

static void a_later_sweep_runs_what_is_held_and_both_have_it(void **state)
{
    struct scene *s = grid(10);
    int64_t first = s->sweep, second;
    size_t at = 0;

    (void)state;
    go_on(s, &at, SIZE_MAX, "lion");
    second = submit_grid(s, guarded(), 10);
    listen_to(&s->w);
    assert_int_equal(sweep_of(s->client, second).reused, 20);
    assert_int_equal(sweep_of(s->client, second).jobs.held, 0);
    go_on(s, &at, SIZE_MAX, NULL);
    assert_int_equal(sweep_of(s->client, second).state, SWEEP_DONE);
    assert_int_equal(sweep_of(s->client, first).jobs.held, 0);
    assert_int_equal(sweep_of(s->client, first).reused, 7);
    assert_int_equal(sweep_of(s->client, first).state, SWEEP_FAILED);
    scene_close(s);
}

static void a_submit_that_is_given_up_leaves_nothing_to_wait_for(void **state)
{
    struct scene *s = grid(10);
    struct peer *other = client_connect(s->f);
    struct submit submit = guarded();
    struct buf configs = { 0 };
    size_t at = 0;

    (void)state;
    go_on(s, &at, SIZE_MAX, "lion");
    submit_begin(other, &submit);
    mp_add_list(&configs, 1);
    mp_add_map(&configs, 2);
    mp_add_str(&configs, "opt", 3);
    mp_add_str(&configs, "lion", 4);
    mp_add_str(&configs, "x", 1);
    mp_add_int(&configs, 10);
    submit_bytes(other, &submit, buf_bytes(&configs), 1);
    buf_free(&configs);
    assert_non_null(job_of(s->client, s->sweep, 29).follows);
    peer_close(other);
    fixture_settle(s->f);
    assert_null(job_of(s->client, s->sweep, 29).follows);
    resume(s, 29, 29);
    assert_int_equal(s->w.hand[s->w.n_hand - 1].job, 29);
    scene_close(s);
}

/* One that waits for a job of another sweep does not wait for one that is held. */
static void what_waits_for_a_held_job_runs_itself(void **state)
{
    struct scene *s = grid(10);
    int64_t first = s->sweep, second = submit_grid(s, guarded(), 10);
    size_t at = 0;

    (void)state;
    assert_int_equal(sweep_of(s->client, second).jobs.queued, 30);
    /* Of the second one those run whose like has failed. */
    go_on(s, &at, 10, "lion");
    assert_int_equal(sweep_of(s->client, first).jobs.held, 7);
    go_on(s, &at, SIZE_MAX, NULL);
    assert_int_equal(sweep_of(s->client, second).state, SWEEP_FAILED);
    assert_int_equal(sweep_of(s->client, second).jobs.failed, 2);
    assert_int_equal(sweep_of(s->client, second).jobs.done, 8);
    assert_int_equal(sweep_of(s->client, first).jobs.held, 0);
    scene_close(s);
}

static void another_source_is_a_reason_to_try_one(void **state)
{
    struct scene *s = grid(10);
    struct submit submit = guarded();
    size_t at = 0;

    (void)state;
    go_on(s, &at, SIZE_MAX, "lion");
    assert_int_equal(counts(s).held, 7);
    submit.begin.work.command = "another";
    submit_all(s->client, submit, 1, 1);
    listen_to(&s->w);
    assert_int_equal(counts(s).held, 6);
    go_on(s, &at, SIZE_MAX, NULL);
    assert_int_equal(counts(s).held, 0);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_failures_hold_the_rest_of_a_sweep),
        cmocka_unit_test(a_value_is_held_where_others_end_well),
        cmocka_unit_test(without_a_guard_all_jobs_run),
        cmocka_unit_test(what_the_program_did_not_do_does_not_count),
        cmocka_unit_test(a_large_sweep_is_held_before_more_of_it_is_handed_out),
        cmocka_unit_test(a_success_lifts_the_hold),
        cmocka_unit_test(what_a_user_resumes_runs_and_is_counted_anew),
        cmocka_unit_test(one_job_that_is_resumed_runs_alone),
        cmocka_unit_test(held_jobs_can_be_cancelled_and_retried),
        cmocka_unit_test(one_is_tried_again_after_an_hour),
        cmocka_unit_test(a_hold_outlives_ludwigd),
        cmocka_unit_test(a_later_sweep_runs_what_is_held_and_both_have_it),
        cmocka_unit_test(a_submit_that_is_given_up_leaves_nothing_to_wait_for),
        cmocka_unit_test(what_waits_for_a_held_job_runs_itself),
        cmocka_unit_test(another_source_is_a_reason_to_try_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

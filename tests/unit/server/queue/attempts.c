/* SPDX-License-Identifier: MIT */
/* attempts.c - tests of what reports, leases and people make of attempts and jobs */

#include "tests/unit/server_player.h"

#include <math.h>

#include "server/queue/retry.h"

static void test_a_job_goes_its_way_to_done(void **state)
{
    struct scene *s = *state;
    const struct assignment *a = s->w.hand;

    assert_int_equal(s->w.n_hand, 1);
    assert_int_equal(a->attempt, 1);
    assert_int_equal(a->restart, 0);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_QUEUED);
    assert_int_equal(tell(&s->w, a, EV_RUN), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_RUNNING);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.running, 1);
    assert_int_equal(tell(&s->w, a, EV_END), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_PUBLISHING);
    assert_int_equal(tell(&s->w, a, EV_DONE), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_DONE);
    assert_true(sweep_of(s->client, s->sweep).ended_at > 0);
}

static void test_a_report_made_twice_is_known(void **state)
{
    struct scene *s = *state;

    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_TAKEN);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_KNOWN);
    assert_int_equal(tell(&s->w, s->w.hand, EV_RUN), VERDICT_KNOWN);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.done, 1);
}

static void test_an_attempt_nobody_knows_does_not_count(void **state)
{
    struct scene *s = *state;
    struct assignment unknown = { 0 };

    token_make(&unknown.token);
    assert_int_equal(tell(&s->w, &unknown, EV_DONE), VERDICT_SUPERSEDED);
}

static void test_another_worker_cannot_report_on_it(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };

    join(s->f, &other, "n2", 4);
    assert_int_equal(tell(&other, s->w.hand, EV_DONE), VERDICT_SUPERSEDED);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_QUEUED);
    peer_close(other.peer);
}

static void test_a_failed_job_is_failed_until_it_is_retried(void **state)
{
    struct scene *s = *state;

    assert_int_equal(tell(&s->w, s->w.hand, EV_FAIL), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_FAILED);
    retry(s->client, s->sweep, 1);
    listen_to(&s->w);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_RUNNING);
    assert_int_equal(s->w.n_hand, 2);
    assert_int_equal(s->w.hand[1].attempt, 2);
    assert_int_equal(s->w.hand[1].restart, 1);
    assert_string_equal(s->w.hand[1].job_name, s->w.hand[0].job_name);
    assert_false(token_equal(&s->w.hand[1].token, &s->w.hand[0].token));
    assert_int_equal(tell(&s->w, &s->w.hand[1], EV_DONE), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
}

static void test_why_it_is_not_published_yet_is_known_until_it_is(void **state)
{
    struct scene *s = *state;
    struct report end = { .token = s->w.hand->token,
                          .event = EV_END,
                          .exit_code = SCHEMA_NONE,
                          .signal = SCHEMA_NONE,
                          .started_at = 4000 };

    assert_int_equal(report(&s->w, end), VERDICT_TAKEN);
    assert_null(job_of(s->client, s->sweep, 1).reason);
    end.reason = "the share is full";
    assert_int_equal(report(&s->w, end), VERDICT_KNOWN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_PUBLISHING);
    assert_string_equal(job_of(s->client, s->sweep, 1).reason, "the share is full");
    end.reason = "it is away";
    assert_int_equal(report(&s->w, end), VERDICT_KNOWN);
    assert_string_equal(job_of(s->client, s->sweep, 1).reason, "it is away");
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_null(job_of(s->client, s->sweep, 1).reason);
    /* What comes late does not count any more. */
    assert_int_equal(report(&s->w, end), VERDICT_KNOWN);
    assert_null(job_of(s->client, s->sweep, 1).reason);
}

/* ---- retry: ---- */

enum { RETRIES = 2 };

/* Instead of the scene's sweep another one, whose retry: names these. */
static void submit_with_retry(struct scene *s, int64_t max, const char **on, size_t n)
{
    struct submit submit = submit_of("p", 1);

    tell(&s->w, s->w.hand, EV_DONE);
    s->w.n_hand = 0;
    submit.begin.reuse = REUSE_NONE;
    submit.begin.retry = (struct retry){ .max = max, .on = { on, n } };
    s->sweep = submit_all(s->client, submit, 1, 1).sweep;
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1);
}

/* The attempt that was handed out last fails so. */
static void fail_last(struct scene *s, struct report how)
{
    how.token = s->w.hand[s->w.n_hand - 1].token;
    how.event = EV_FAIL;
    how.started_at = 4000;
    how.ended_at = 5000;
    assert_int_equal(report(&s->w, how), VERDICT_TAKEN);
}

static void test_a_failure_that_retry_names_is_tried_again_so_often_and_no_more(void **state)
{
    struct scene *s = *state;
    struct report oom = {
        .cause = CAUSE_OOM, .exit_code = SCHEMA_NONE, .signal = 9, .reason = "out of memory"
    };
    const char *on[] = { "oom", "timeout" };
    struct job_info job;

    submit_with_retry(s, RETRIES, on, 2);
    fail_last(s, oom);
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_string_equal(job.reason, "failed before: out of memory; tried again (1 of 2)");
    assert_int_equal(s->w.n_hand, 2);
    assert_int_equal(s->w.hand[1].attempt, 2);
    assert_int_equal(s->w.hand[1].restart, 1);
    tell(&s->w, &s->w.hand[1], EV_RUN);
    assert_null(job_of(s->client, s->sweep, 1).reason);
    fail_last(s, oom);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_RUNNING);
    fail_last(s, oom);
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_FAILED);
    assert_string_equal(job.reason, "out of memory, after 3 tries");
    assert_string_equal(job.cause, "oom");
    assert_int_equal(s->w.n_hand, 3);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_FAILED);
}

static void test_a_failure_that_retry_does_not_name_ends_the_job(void **state)
{
    struct scene *s = *state;
    const char *on[] = { "oom" };
    struct job_info job;

    submit_with_retry(s, RETRIES, on, 1);
    fail_last(s, (struct report){ .cause = CAUSE_OOM, .exit_code = SCHEMA_NONE, .signal = 9 });
    fail_last(s, (struct report){ .exit_code = 3, .reason = "exit code 3" });
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_FAILED);
    assert_string_equal(job.reason, "exit code 3");
    assert_int_equal(job.exit_code, 3);
    assert_int_equal(job.attempt, 2);
}

static void test_forgiven_failures_cost_no_retries(void **state)
{
    struct scene *s = *state;
    const char *on[] = { "3" };

    submit_with_retry(s, 1, on, 1);
    fail_last(s, (struct report){ .exit_code = 3 });
    fail_last(s, (struct report){ .exit_code = 3 });
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    retry(s->client, s->sweep, 1);
    listen_to(&s->w);
    fail_last(s, (struct report){ .exit_code = 3, .reason = "exit code 3" });
    assert_string_equal(job_of(s->client, s->sweep, 1).reason,
                        "failed before: exit code 3; tried again (1 of 1)");
    assert_int_equal(s->w.n_hand, 4);
}

static void test_a_retry_that_succeeds_is_done_and_says_nothing_of_before(void **state)
{
    struct scene *s = *state;
    const char *on[] = { "failed" };
    struct job_info job;

    submit_with_retry(s, 1, on, 1);
    fail_last(s, (struct report){ .exit_code = 3 });
    tell(&s->w, &s->w.hand[1], EV_DONE);
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_DONE);
    assert_null(job.reason);
    assert_null(job.cause);
}

static void test_a_failure_without_a_cause_gets_the_one_it_shows(void **state)
{
    static const struct {
        struct report report;
        const char *cause;
    } cases[] = {
        { { .exit_code = 3 }, "failed" },
        { { .exit_code = SCHEMA_NONE, .signal = 11 }, "signal" },
        { { .exit_code = SCHEMA_NONE, .signal = 9, .cause = CAUSE_OOM }, "oom" },
        { { .exit_code = SCHEMA_NONE }, "failed" },
    };
    struct scene *s = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fail_last(s, cases[i].report);
        assert_string_equal(job_of(s->client, s->sweep, 1).cause, cases[i].cause);
        retry(s->client, s->sweep, 1);
        listen_to(&s->w);
    }
}

static void test_a_place_taken_away_is_told_apart_from_a_lost_node(void **state)
{
    struct scene *s = *state;
    struct report preempted = { .token = s->w.hand[0].token,
                                .event = EV_LOSE,
                                .cause = CAUSE_PREEMPTED,
                                .reason = "Slurm took the place" };
    const char *on[] = { "preempted" };
    struct job_info job;

    submit_with_retry(s, 1, on, 1);
    for (int i = 0; i < 3; i++)
        tell(&s->w, &s->w.hand[s->w.n_hand - 1], EV_LOSE);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_QUEUED);
    preempted.token = s->w.hand[s->w.n_hand - 1].token;
    report(&s->w, preempted);
    assert_string_equal(job_of(s->client, s->sweep, 1).reason,
                        "lost before: Slurm took the place; tried again (1 of 1)");
    preempted.token = s->w.hand[s->w.n_hand - 1].token;
    report(&s->w, preempted);
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_FAILED);
    assert_string_equal(job.cause, "preempted");
}

static void test_who_is_cut_off_twice_without_a_time_fails(void **state)
{
    struct scene *s = *state;
    struct report cut = { .event = EV_LOSE, .cause = CAUSE_WALLTIME };

    for (int i = 0; i < JOB_CUTS_MAX; i++) {
        assert_int_equal(job_of(s->client, s->sweep, 1).attempt, i + 1);
        cut.token = s->w.hand[s->w.n_hand - 1].token;
        report(&s->w, cut);
    }
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    assert_string_equal(job_of(s->client, s->sweep, 1).cause, "walltime");
    assert_non_null(strstr(job_of(s->client, s->sweep, 1).reason, "give time:"));
}

static void test_a_worker_that_is_gone_counts_where_retry_names_it(void **state)
{
    struct scene *s = *state;
    const char *on[] = { "node-lost" };
    struct job_info job;

    submit_with_retry(s, 0, on, 1);
    tell(&s->w, s->w.hand, EV_RUN);
    leave(s);
    let_leases_end(s);
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_FAILED);
    assert_string_equal(job.cause, "node-lost");
    assert_string_equal(job.reason, "node-lost");
}

static void test_a_lost_attempt_is_run_again_but_not_for_ever(void **state)
{
    struct scene *s = *state;

    for (int i = 0; i <= JOB_LOSSES_MAX; i++) {
        assert_int_equal(s->w.n_hand, i + 1);
        assert_int_equal(tell(&s->w, &s->w.hand[i], EV_LOSE), VERDICT_TAKEN);
    }
    assert_int_equal(s->w.n_hand, JOB_LOSSES_MAX + 1);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    assert_non_null(strstr(job_of(s->client, s->sweep, 1).reason, "lost"));
}

static void test_a_recalled_attempt_goes_back_to_the_queue(void **state)
{
    struct scene *s = *state;

    for (int i = 0; i < 10; i++)
        assert_int_equal(
            report(&s->w, (struct report){ .token = s->w.hand[i].token, .event = EV_RECALL }),
            VERDICT_TAKEN);
    assert_int_equal(s->w.n_hand, 11);
    assert_int_equal(s->w.hand[10].restart, 0);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_QUEUED);
}

static void test_a_cancelled_job_is_over_at_once_and_its_attempt_is_stopped(void **state)
{
    struct scene *s = *state;

    tell(&s->w, s->w.hand, EV_RUN);
    cancel(s->client, s->sweep, 1);
    listen_to(&s->w);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_CANCELLED);
    assert_int_equal(s->w.n_stopped, 1);
    assert_true(token_equal(&s->w.stopped[0], &s->w.hand[0].token));
    assert_int_equal(tell(&s->w, s->w.hand, EV_CANCEL), VERDICT_TAKEN);
    assert_int_equal(s->w.n_hand, 1);
}

static void test_done_of_a_cancelled_job_is_withdrawn(void **state)
{
    struct scene *s = *state;

    tell(&s->w, s->w.hand, EV_RUN);
    cancel(s->client, s->sweep, 1);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_WITHDRAW);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_WITHDRAW);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_CANCELLED);
    assert_int_equal(tell(&s->w, s->w.hand, EV_WITHDRAW), VERDICT_TAKEN);
    assert_int_equal(tell(&s->w, s->w.hand, EV_WITHDRAW), VERDICT_KNOWN);
}

static void test_a_withdrawal_that_crosses_a_retry_ends_well(void **state)
{
    struct scene *s = *state;

    tell(&s->w, s->w.hand, EV_RUN);
    cancel(s->client, s->sweep, 1);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_WITHDRAW);
    retry(s->client, s->sweep, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 2);
    /* The new attempt finds the result, just before it is taken away. */
    assert_int_equal(report(&s->w, (struct report){ .token = s->w.hand[1].token,
                                                    .event = EV_SUPERSEDE,
                                                    .winner = s->w.hand[0].token }),
                     VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_int_equal(tell(&s->w, s->w.hand, EV_WITHDRAW), VERDICT_TAKEN);
    assert_int_equal(s->w.n_hand, 3);
    assert_int_equal(tell(&s->w, &s->w.hand[2], EV_DONE), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
}

static void test_a_silent_workers_jobs_are_given_out_again_after_the_lease(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };

    tell(&s->w, s->w.hand, EV_RUN);
    leave(s);
    join(s->f, &other, "n2", 4);
    assert_int_equal(other.n_hand, 0);
    let_leases_end(s);
    listen_to(&other);
    assert_int_equal(other.n_hand, 1);
    assert_int_equal(other.hand[0].attempt, 2);
    assert_int_equal(other.hand[0].restart, 1);
    peer_close(other.peer);
}

static void test_a_silent_worker_is_cut_off_though_its_connection_stands(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };
    struct envelope m;

    tell(&s->w, s->w.hand, EV_RUN);
    s->f->sv.conf.lease_ms = 1;
    leases_load(&s->f->sv, NULL);
    usleep(5000);
    assert_int_equal(peer_receive_any(s->w.peer, &m), -1);
    s->f->sv.conf.lease_ms = 600000;
    join(s->f, &other, "n2", 4);
    listen_to(&other);
    assert_int_equal(other.n_hand, 1);
    assert_int_equal(other.hand[0].attempt, 2);
    peer_close(other.peer);
}

static int n_lost_sight;

static void count_lost_sight(struct server *sv)
{
    (void)sv;
    n_lost_sight++;
}

static void test_a_connected_worker_that_is_silent_is_told_once(void **state)
{
    enum { LEASE_MS = 600000 };
    struct scene *s = *state;
    struct server *sv = &s->f->sv;
    struct conn *c = s->w.peer->conn;
    struct msg_alive alive = { true };
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    tell(&s->w, s->w.hand, EV_RUN);
    assert_false(lease_is_silent(sv, c));
    leases_destroy(sv->leases);
    sv->leases = leases_create(sv, count_lost_sight);
    sv->conf.lease_ms = 10; /* it is looked at soon */
    lease_begin(sv, c->worker);
    sv->conf.lease_ms = LEASE_MS;
    c->heard_ms -= (uint64_t)proto_silent_after_ms(LEASE_MS);
    assert_true(lease_is_silent(sv, c));
    for (n_lost_sight = 0; n_lost_sight == 0; fixture_turn(s->f))
        assert_true(units_monotonic_ms() < until_ms);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_RUNNING);
    peer_ask(s->w.peer, MSG_ALIVE, &alive, NULL);
    assert_false(lease_is_silent(sv, c));
    fixture_settle(s->f);
    assert_int_equal(n_lost_sight, 1);
}

static void test_a_worker_that_was_heard_within_its_lease_keeps_its_jobs(void **state)
{
    struct scene *s = *state;
    struct msg_alive alive = { true };

    tell(&s->w, s->w.hand, EV_RUN);
    peer_ask(s->w.peer, MSG_ALIVE, &alive, NULL);
    let_leases_end(s);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_RUNNING);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_TAKEN);
}

/* What a worker whose clock is ahead by so much says of a job is told in the server's time. */
static void check_clock(struct scene *s, int64_t ahead_ms)
{
    enum { BEGAN_MS = 60 * 1000, ENDED_MS = 20 * 1000, TOLERANCE_MS = 10 * 1000 };
    int64_t now = units_now_ms();
    int64_t there = now + ahead_ms;
    struct report r = { .token = s->w.hand->token,
                        .event = EV_DONE,
                        .started_at = there - BEGAN_MS,
                        .ended_at = there - ENDED_MS };
    struct job_info job;

    assert_int_equal(report_at(&s->w, r, there), VERDICT_TAKEN);
    job = job_of(s->client, s->sweep, 1);
    assert_in_range(job.started_at, now - BEGAN_MS, now - BEGAN_MS + TOLERANCE_MS);
    assert_in_range(job.ended_at, now - ENDED_MS, now - ENDED_MS + TOLERANCE_MS);
}

static void test_times_of_a_worker_whose_clock_is_ahead_are_the_servers(void **state)
{
    check_clock(*state, 3600000);
}

static void test_times_of_a_worker_whose_clock_is_behind_are_the_servers(void **state)
{
    check_clock(*state, -3600000);
}

static void test_small_differences_of_clocks_are_left_alone(void **state)
{
    check_clock(*state, 1000);
}

static void test_a_worker_that_is_back_in_time_keeps_its_jobs(void **state)
{
    struct scene *s = *state;
    struct held held = { s->w.hand[0].token, ATTEMPT_RUNNING, 4000 };
    struct msg_registered answer;

    tell(&s->w, s->w.hand, EV_RUN);
    leave(s);
    s->w.reg.attempts = (struct list){ &held, 1 };
    answer = join(s->f, &s->w, NULL, 0);
    assert_int_equal(answer.stop.n, 0);
    let_leases_end(s);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_RUNNING);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_TAKEN);
}

static void test_what_a_worker_does_not_hold_never_arrived(void **state)
{
    struct scene *s = *state;

    leave(s);
    join(s->f, &s->w, NULL, 0);
    assert_int_equal(s->w.n_hand, 2);
    assert_int_equal(s->w.hand[1].attempt, 2);
    assert_int_equal(s->w.hand[1].restart, 0);
}

/* Gives the job to a second worker after the lease of the first, and brings the first back. */
static struct msg_registered come_back(struct scene *s, struct player *other, bool other_runs,
                                       int64_t other_started_at)
{
    static struct held held;

    held = (struct held){ s->w.hand[0].token, ATTEMPT_RUNNING, 4000 };
    tell(&s->w, s->w.hand, EV_RUN);
    leave(s);
    join(s->f, other, "n2", 4);
    let_leases_end(s);
    listen_to(other);
    assert_int_equal(other->n_hand, 1);
    if (other_runs)
        report(other, (struct report){
                          .token = other->hand[0].token, .event = EV_RUN, .at = other_started_at });
    s->w.reg.attempts = (struct list){ &held, 1 };
    return join(s->f, &s->w, NULL, 0);
}

static void test_of_two_attempts_the_one_that_has_run_longest_stays(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };

    assert_int_equal(come_back(s, &other, true, 9000).stop.n, 0);
    listen_to(&other);
    assert_int_equal(other.n_stopped, 1);
    assert_true(token_equal(&other.stopped[0], &other.hand[0].token));
    assert_int_equal(tell(&other, other.hand, EV_CANCEL), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_RUNNING);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.done, 1);
    peer_close(other.peer);
}

static void test_one_that_came_back_younger_is_stopped(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };

    assert_int_equal(come_back(s, &other, true, 3000).stop.n, 1);
    assert_int_equal(tell(&other, other.hand, EV_DONE), VERDICT_TAKEN);
    assert_int_equal(tell(&s->w, s->w.hand, EV_CANCEL), VERDICT_SUPERSEDED);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    peer_close(other.peer);
}

static void test_done_counts_from_whichever_attempt_published(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };

    come_back(s, &other, false, 0);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_TAKEN);
    listen_to(&other);
    assert_true(other.n_stopped >= 1);
    assert_true(token_equal(&other.stopped[0], &other.hand[0].token));
    assert_int_equal(report(&other, (struct report){ .token = other.hand[0].token,
                                                     .event = EV_SUPERSEDE,
                                                     .winner = s->w.hand[0].token }),
                     VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.done, 1);
    peer_close(other.peer);
}

static void test_a_result_found_on_the_share_proves_its_attempt_done(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };

    tell(&s->w, s->w.hand, EV_RUN);
    leave(s);
    join(s->f, &other, "n2", 4);
    let_leases_end(s);
    listen_to(&other);
    assert_int_equal(report(&other, (struct report){ .token = other.hand[0].token,
                                                     .event = EV_SUPERSEDE,
                                                     .winner = s->w.hand[0].token }),
                     VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_int_equal(other.n_hand, 1);
    peer_close(other.peer);
}

static void test_metrics_come_out_as_they_were_reported(void **state)
{
    struct scene *s = *state;
    struct metric metrics[] = { { .name = "accuracy", .value = 0.5, .step = 3 },
                                { .name = "loss", .value = 2.5, .step = SCHEMA_NONE } };
    struct msg_get_results ask = { .sweep = s->sweep, .limit = 10 };
    struct msg_result_page page;
    const struct job_result *r;

    report(&s->w, (struct report){
                      .token = s->w.hand[0].token, .event = EV_DONE, .metrics = { metrics, 2 } });
    peer_ask(s->client, MSG_GET_RESULTS, &ask, &page);
    assert_int_equal(page.results.n, 1);
    r = page.results.items;
    assert_int_equal(r->metrics.n, 2);
    assert_string_equal(((const struct metric *)r->metrics.items)[0].name, "accuracy");
    assert_true(((const struct metric *)r->metrics.items)[1].value == 2.5);
}

static void test_the_proven_ones_own_report_brings_its_measures(void **state)
{
    struct scene *s = *state;
    struct metric metric = { .name = "accuracy", .value = 0.5, .step = SCHEMA_NONE };
    struct report done = { .token = s->w.hand[0].token,
                           .event = EV_DONE,
                           .started_at = 4000,
                           .ended_at = 5000,
                           .metrics = { &metric, 1 } };
    struct msg_get_results ask = { .sweep = s->sweep, .limit = 10 };
    struct msg_result_page page;
    struct player other = { 0 };

    come_back(s, &other, false, 0);
    report(&other, (struct report){ .token = other.hand[0].token,
                                    .event = EV_SUPERSEDE,
                                    .winner = s->w.hand[0].token });
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_int_equal(report(&s->w, done), VERDICT_TAKEN);
    assert_int_equal(report(&s->w, done), VERDICT_KNOWN);
    peer_ask(s->client, MSG_GET_RESULTS, &ask, &page);
    assert_int_equal(((const struct job_result *)page.results.items)->metrics.n, 1);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.done, 1);
    peer_close(other.peer);
}

static void test_a_result_of_an_attempt_nobody_knows_ends_the_job(void **state)
{
    struct scene *s = *state;
    struct report found = { .token = s->w.hand[0].token, .event = EV_SUPERSEDE };

    token_make(&found.winner);
    assert_int_equal(report(&s->w, found), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    assert_int_equal(s->w.n_hand, 1);
}

static void test_a_failure_counts_whatever_became_of_later_attempts(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };

    come_back(s, &other, true, 9000);
    listen_to(&other);
    assert_int_equal(tell(&other, other.hand, EV_CANCEL), VERDICT_TAKEN);
    assert_int_equal(tell(&s->w, s->w.hand, EV_FAIL), VERDICT_TAKEN);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    assert_int_equal(job_of(s->client, s->sweep, 1).attempt, 1);
    assert_int_equal(s->w.n_hand + other.n_hand, 2);
    peer_close(other.peer);
}

static void test_an_attempt_that_came_back_unstarted_can_be_given_back(void **state)
{
    struct scene *s = *state;
    struct held held = { s->w.hand[0].token, ATTEMPT_ASSIGNED, 0 };

    leave(s);
    let_leases_end(s);
    s->w.reg.attempts = (struct list){ &held, 1 };
    join(s->f, &s->w, NULL, 0);
    assert_int_equal(tell(&s->w, s->w.hand, EV_RECALL), VERDICT_TAKEN);
    assert_true(s->w.n_hand >= 2);
}

static void test_a_hand_on_its_way_outlives_a_second_registration(void **state)
{
    struct scene *s = *state;
    int64_t re = peer_send(s->w.peer, MSG_REGISTER, &s->w.reg);
    struct envelope m;

    do {
        assert_true(peer_receive_any(s->w.peer, &m) >= 0);
        keep(&s->w, &m);
    } while (m.re != re);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1);
    assert_int_equal(tell(&s->w, s->w.hand, EV_DONE), VERDICT_TAKEN);
}

/* 40 of 150 kB: more than one hand may carry, each less than a socket's buffer. */
static void test_large_configurations_come_in_several_hands(void **state)
{
    enum { CONFIGS = 40, TEXT_BYTES = 150 * 1000 };
    struct scene *s = *state;
    struct submit big = submit_of("big", 1);
    char *text = mem_alloc(TEXT_BYTES);

    memset(text, 'x', TEXT_BYTES);
    tell(&s->w, s->w.hand, EV_DONE);
    big.begin.work.resources.cpus_milli = 100;
    submit_begin(s->client, &big);
    for (int64_t i = 0; i < CONFIGS; i++) {
        struct buf configs = { 0 };

        mp_add_list(&configs, 1);
        mp_add_map(&configs, 2);
        mp_add_str(&configs, "i", 1);
        mp_add_int(&configs, i);
        mp_add_str(&configs, "text", 4);
        mp_add_str(&configs, text, TEXT_BYTES);
        submit_bytes(s->client, &big, buf_bytes(&configs), 1);
        buf_free(&configs);
    }
    submit_end(s->client, &big);
    for (int i = 0; i < 1000 && s->w.n_hand < 1 + CONFIGS; i++)
        listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1 + CONFIGS);
    assert_int_equal(s->w.n_hands, 3);
    free(text);
}

static void test_the_range_of_a_measure_is_kept_with_its_last_value(void **state)
{
    struct scene *s = *state;
    struct metric metrics[] = {
        { .name = "loss", .value = 0.5, .step = 9, .min = 0.25, .max = 8, .n = 10 },
        { .name = "seen", .value = 1, .step = 1, .min = (double)NAN, .max = (double)NAN },
    };
    struct msg_get_results ask = { .sweep = s->sweep, .limit = 10 };
    struct msg_result_page page;
    const struct metric *m;

    report(&s->w, (struct report){
                      .token = s->w.hand[0].token, .event = EV_DONE, .metrics = { metrics, 2 } });
    peer_ask(s->client, MSG_GET_RESULTS, &ask, &page);
    m = ((const struct job_result *)page.results.items)->metrics.items;
    assert_true(m[0].min == 0.25 && m[0].max == 8 && m[0].value == 0.5);
    assert_int_equal(m[0].n, 10);
    assert_true(isnan(m[1].min) && isnan(m[1].max));
    assert_int_equal(m[1].n, 0);
}

/* ---- what was spent ---- */

struct spent {
    int64_t attempts, ms, cpu_ms;
};

static struct spent spent_on(struct scene *s)
{
    struct msg_get_usage ask = { .before = s->sweep + 1, .limit = 1 };
    struct msg_usage_page page;
    const struct usage_info *row;

    peer_ask(s->client, MSG_GET_USAGE, &ask, &page);
    assert_int_equal(page.rows.n, 1);
    row = page.rows.items;
    return (struct spent){ row->attempts, (int64_t)llround(row->hours * 3600000),
                           (int64_t)llround(row->busy_cpu_hours * 3600000) };
}

static void expect_spent(struct scene *s, int64_t attempts, int64_t ms, int64_t cpu_ms)
{
    struct spent spent = spent_on(s);

    assert_int_equal(spent.attempts, attempts);
    assert_int_equal(spent.ms, ms);
    assert_int_equal(spent.cpu_ms, cpu_ms);
}

static void run_at(struct scene *s, int64_t at)
{
    report(&s->w, (struct report){ .token = s->w.hand[0].token, .event = EV_RUN, .at = at });
}

static void test_the_gpus_of_a_job_are_those_that_its_worker_named_first(void **state)
{
    struct scene *s = *state;
    struct report run = { .token = s->w.hand[0].token, .event = EV_RUN, .at = 4000 };

    run.gpu_ids = "0,\033[2J";
    report(&s->w, run);
    assert_null(job_of(s->client, s->sweep, 1).gpu_ids);
    run.gpu_ids = "0,GPU-5f2a";
    run.event = EV_END;
    report(&s->w, run);
    assert_string_equal(job_of(s->client, s->sweep, 1).gpu_ids, "0,GPU-5f2a");
    run.gpu_ids = "1";
    run.event = EV_DONE;
    report(&s->w, run);
    assert_string_equal(job_of(s->client, s->sweep, 1).gpu_ids, "0,GPU-5f2a");
}

static void test_what_ran_is_spent_whatever_came_of_it_and_only_once(void **state)
{
    struct scene *s = *state;
    struct report failed = { .token = s->w.hand[0].token,
                             .event = EV_FAIL,
                             .started_at = 4000,
                             .ended_at = 6500,
                             .exit_code = 1,
                             .cpu_ms = 1200 };
    struct report done = failed;

    run_at(s, 4000);
    report(&s->w, failed);
    expect_spent(s, 1, 2500, 1200);
    assert_int_equal(report(&s->w, failed), VERDICT_KNOWN);
    expect_spent(s, 1, 2500, 1200);
    retry(s->client, s->sweep, 1);
    listen_to(&s->w);
    done.token = s->w.hand[1].token;
    done.event = EV_DONE;
    done.exit_code = 0;
    report(&s->w, done);
    report(&s->w, done);
    expect_spent(s, 2, 5000, 2400);
}

static void test_what_never_ran_has_spent_nothing(void **state)
{
    struct scene *s = *state;

    report(&s->w, (struct report){ .token = s->w.hand[0].token, .event = EV_RECALL });
    report(&s->w, (struct report){ .token = s->w.hand[1].token, .event = EV_LOSE });
    report(&s->w,
           (struct report){ .token = s->w.hand[2].token, .event = EV_SUPERSEDE, .ended_at = 5000 });
    expect_spent(s, 0, 0, 0);
}

static void
test_a_lost_attempt_has_spent_until_it_was_lost_and_what_it_says_once_it_is_back(void **state)
{
    struct scene *s = *state;
    struct held held = { s->w.hand[0].token, ATTEMPT_RUNNING, 0 };
    int64_t started_at = units_now_ms() - 60000;
    struct spent lost;

    held.started_at = started_at;
    run_at(s, started_at);
    leave(s);
    let_leases_end(s);
    lost = spent_on(s);
    assert_int_equal(lost.attempts, 1);
    assert_in_range(lost.ms, 60000, 60000 + FIXTURE_WAIT_MS);
    s->w.reg.attempts = (struct list){ &held, 1 };
    join(s->f, &s->w, NULL, 0);
    assert_int_equal(spent_on(s).attempts, 0); /* it runs again */
    report(&s->w, (struct report){ .token = held.token,
                                   .event = EV_DONE,
                                   .started_at = started_at,
                                   .ended_at = started_at + 90000,
                                   .cpu_ms = 70000 });
    expect_spent(s, 1, 90000, 70000);
}

static void test_one_thought_lost_that_had_published_is_counted_by_its_own_report(void **state)
{
    struct scene *s = *state;
    int64_t started_at = units_now_ms() - 60000;

    run_at(s, started_at);
    leave(s);
    let_leases_end(s);
    join(s->f, &s->w, NULL, 0);
    assert_int_equal(report(&s->w, (struct report){ .token = s->w.hand[0].token,
                                                    .event = EV_DONE,
                                                    .started_at = started_at,
                                                    .ended_at = started_at + 2000,
                                                    .cpu_ms = 1500 }),
                     VERDICT_TAKEN);
    expect_spent(s, 1, 2000, 1500);
}

static void test_a_withdrawal_gives_nothing_back(void **state)
{
    struct scene *s = *state;
    struct report done = { .token = s->w.hand[0].token,
                           .event = EV_DONE,
                           .started_at = 4000,
                           .ended_at = 5000,
                           .cpu_ms = 800 };

    run_at(s, 4000);
    cancel(s->client, s->sweep, 1);
    assert_int_equal(report(&s->w, done), VERDICT_WITHDRAW);
    expect_spent(s, 1, 1000, 800);
    report(&s->w, (struct report){ .token = s->w.hand[0].token, .event = EV_WITHDRAW });
    expect_spent(s, 1, 1000, 800);
}

/* Both messages are there when the turn begins: the cancel finds no connection of the worker. */
static void test_a_cancel_in_the_turn_of_the_registration_stops_the_attempt(void **state)
{
    struct scene *s = *state;
    struct held held = { s->w.hand[0].token, ATTEMPT_RUNNING, 4000 };
    struct target target = { s->sweep, 1, 1 };
    struct msg_cancel body = { .targets = { &target, 1 } };

    tell(&s->w, s->w.hand, EV_RUN);
    leave(s);
    s->w.reg.attempts = (struct list){ &held, 1 };
    s->w.peer = peer_connect(s->f);
    peer_hello(s->w.peer, "ludwig-worker");
    peer_send(s->w.peer, MSG_REGISTER, &s->w.reg);
    peer_send(s->client, MSG_CANCEL, &body);
    listen_to(&s->w);
    assert_int_equal(s->w.n_stopped, 1);
    assert_true(token_equal(&s->w.stopped[0], &held.token));
    peer_expect(s->client, MSG_CHANGED, NULL);
}

/* ---- jobs that wait for the same job of another sweep ---- */

/* The scene's sweep once more. */
static int64_t submit_again(struct scene *s)
{
    struct msg_submitted again = submit_all(s->client, submit_of("p", 1), 1, 1);

    assert_int_equal(again.jobs, 1);
    assert_int_equal(again.queued, 0);
    assert_int_equal(again.followed, 1);
    assert_int_equal(sweep_of(s->client, again.sweep).state, SWEEP_RUNNING);
    listen_to(&s->w);
    return again.sweep;
}

static void expect_follows(struct scene *s, int64_t sweep, const char *job)
{
    struct job_info info = job_of(s->client, sweep, 1);

    assert_int_equal(info.state, JOB_QUEUED);
    if (job == NULL)
        assert_null(info.follows);
    else
        assert_string_equal(info.follows, job);
}

static void test_what_runs_in_another_sweep_is_waited_for_and_taken(void **state)
{
    struct scene *s = *state;
    int64_t again = submit_again(s);
    struct sweep_info info;

    expect_follows(s, again, "1.1");
    assert_int_equal(s->w.n_hand, 1);
    tell(&s->w, s->w.hand, EV_RUN);
    expect_follows(s, again, "1.1");
    tell(&s->w, s->w.hand, EV_DONE);
    info = sweep_of(s->client, again);
    assert_int_equal(info.state, SWEEP_DONE);
    assert_int_equal(info.reused, 1);
    assert_int_equal(info.jobs.queued + info.jobs.done, 0);
    assert_true(info.ended_at > 0);
    assert_int_equal(s->w.n_hand, 1);
}

static void test_what_came_to_nothing_elsewhere_is_queued_by_the_first_that_waited(void **state)
{
    struct scene *s = *state;
    int64_t second = submit_again(s), third = submit_again(s);

    tell(&s->w, s->w.hand, EV_FAIL);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 2);
    expect_follows(s, second, NULL);
    expect_follows(s, third, "2.1");
    cancel(s->client, second, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 3);
    expect_follows(s, third, NULL);
    tell(&s->w, &s->w.hand[2], EV_DONE);
    assert_int_equal(sweep_of(s->client, third).state, SWEEP_DONE);
    assert_int_equal(sweep_of(s->client, third).jobs.done, 1);
}

static void
test_a_job_that_waited_and_was_cancelled_takes_the_result_when_it_is_retried(void **state)
{
    struct scene *s = *state;
    int64_t again = submit_again(s);

    cancel(s->client, again, 1);
    assert_int_equal(sweep_of(s->client, again).state, SWEEP_CANCELLED);
    tell(&s->w, s->w.hand, EV_DONE);
    assert_int_equal(sweep_of(s->client, again).reused, 0);
    retry(s->client, again, 1);
    assert_int_equal(sweep_of(s->client, again).state, SWEEP_DONE);
    assert_int_equal(sweep_of(s->client, again).reused, 1);
}

static void test_what_ends_during_a_submit_counts_for_it(void **state)
{
    static const struct {
        enum attempt_event event;
        int64_t reused, queued;
    } cases[] = { { EV_DONE, 1, 0 }, { EV_FAIL, 0, 1 } };
    struct scene *s = *state;

    for (size_t i = 0; i < 2; i++) {
        struct submit again = submit_of("p", 1);
        struct msg_submitted done;

        again.begin.work.command = i == 0 ? "true" : "false";
        if (i == 1)
            submit_all(s->client, again, 1, 1);
        listen_to(&s->w);
        submit_begin(s->client, &again);
        submit_chunk(s->client, &again, 1, 1);
        tell(&s->w, &s->w.hand[i], cases[i].event);
        done = submit_end(s->client, &again);
        assert_int_equal(done.reused, cases[i].reused);
        assert_int_equal(done.queued, cases[i].queued);
        assert_int_equal(done.followed, 0);
    }
}

static void test_nothing_is_waited_for_where_all_is_to_run(void **state)
{
    struct scene *s = *state;
    struct submit again = submit_of("p", 1);

    again.begin.reuse = REUSE_NONE;
    assert_int_equal(submit_all(s->client, again, 1, 1).queued, 1);
    again.begin.reuse = REUSE_ALL;
    again.begin.work.command = "false";
    assert_int_equal(submit_all(s->client, again, 1, 1).queued, 1);
    again.begin.reuse = REUSE_PARAMS;
    again.begin.work.command = "echo";
    assert_int_equal(submit_all(s->client, again, 1, 1).followed, 1);
}

/* ---- nodes that lack the environment ---- */

static const struct report lacking = { .cause = CAUSE_ENVIRONMENT,
                                       .exit_code = 1,
                                       .signal = SCHEMA_NONE,
                                       .reason = "n1 does not have it" };

static void test_a_job_whose_node_lacks_its_environment_goes_to_another(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };
    struct msg_ask_why ask = { s->sweep, 1 };
    struct msg_why why;
    struct job_info job;

    join(s->f, &other, "n2", 4);
    fail_last(s, lacking);
    listen_to(&other);
    assert_int_equal(other.n_hand, 1);
    assert_int_equal(other.hand[0].attempt, 2);
    assert_int_equal(other.hand[0].restart, 0); /* its program was not begun */
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_string_equal(job.reason, "given to another node: n1 does not have it");
    peer_ask(s->client, MSG_ASK_WHY, &ask, &why);
    assert_non_null(strstr(((const char *const *)why.lines.items)[why.lines.n - 1],
                           "n1 was in vain: n1 does not have it"));
    tell(&other, other.hand, EV_DONE);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_DONE);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1); /* it got nothing again */
    peer_close(other.peer);
}

static void test_it_fails_where_every_node_lacks_it(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };
    struct report r = lacking;
    struct job_info job;

    join(s->f, &other, "n2", 4);
    fail_last(s, lacking);
    listen_to(&other);
    r.token = other.hand[0].token;
    r.event = EV_FAIL;
    report(&other, r);
    job = job_of(s->client, s->sweep, 1);
    assert_int_equal(job.state, JOB_FAILED);
    assert_string_equal(job.cause, "environment");
    assert_string_equal(job.reason, "n1 does not have it");
    retry(s->client, s->sweep, 1); /* forgets what they lack */
    listen_to(&s->w);
    listen_to(&other);
    assert_int_equal(s->w.n_hand + other.n_hand, 3);
    peer_close(other.peer);
}

static void test_a_node_that_is_too_small_is_no_other(void **state)
{
    struct scene *s = *state;
    struct submit submit = submit_of("p", 1);
    struct player small = { 0 };

    tell(&s->w, s->w.hand, EV_DONE);
    s->w.n_hand = 0;
    submit.begin.reuse = REUSE_NONE;
    submit.begin.work.resources.cpus_milli = 2000;
    join(s->f, &small, "n2", 1);
    s->sweep = submit_all(s->client, submit, 1, 1).sweep;
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1);
    fail_last(s, lacking);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    peer_close(small.peer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_job_goes_its_way_to_done),
        TEST(test_a_report_made_twice_is_known),
        TEST(test_an_attempt_nobody_knows_does_not_count),
        TEST(test_another_worker_cannot_report_on_it),
        TEST(test_a_failed_job_is_failed_until_it_is_retried),
        TEST(test_why_it_is_not_published_yet_is_known_until_it_is),
        TEST(test_a_lost_attempt_is_run_again_but_not_for_ever),
        TEST(test_a_recalled_attempt_goes_back_to_the_queue),
        TEST(test_a_cancelled_job_is_over_at_once_and_its_attempt_is_stopped),
        TEST(test_done_of_a_cancelled_job_is_withdrawn),
        TEST(test_a_withdrawal_that_crosses_a_retry_ends_well),
        TEST(test_a_silent_workers_jobs_are_given_out_again_after_the_lease),
        TEST(test_a_silent_worker_is_cut_off_though_its_connection_stands),
        TEST(test_a_connected_worker_that_is_silent_is_told_once),
        TEST(test_a_worker_that_was_heard_within_its_lease_keeps_its_jobs),
        TEST(test_small_differences_of_clocks_are_left_alone),
        TEST(test_times_of_a_worker_whose_clock_is_behind_are_the_servers),
        TEST(test_times_of_a_worker_whose_clock_is_ahead_are_the_servers),
        TEST(test_a_worker_that_is_back_in_time_keeps_its_jobs),
        TEST(test_what_a_worker_does_not_hold_never_arrived),
        TEST(test_of_two_attempts_the_one_that_has_run_longest_stays),
        TEST(test_one_that_came_back_younger_is_stopped),
        TEST(test_done_counts_from_whichever_attempt_published),
        TEST(test_a_result_found_on_the_share_proves_its_attempt_done),
        TEST(test_the_proven_ones_own_report_brings_its_measures),
        TEST(test_a_result_of_an_attempt_nobody_knows_ends_the_job),
        TEST(test_a_failure_counts_whatever_became_of_later_attempts),
        TEST(test_an_attempt_that_came_back_unstarted_can_be_given_back),
        TEST(test_a_hand_on_its_way_outlives_a_second_registration),
        TEST(test_large_configurations_come_in_several_hands),
        TEST(test_metrics_come_out_as_they_were_reported),
        TEST(test_the_range_of_a_measure_is_kept_with_its_last_value),
        TEST(test_a_failure_that_retry_names_is_tried_again_so_often_and_no_more),
        TEST(test_a_failure_that_retry_does_not_name_ends_the_job),
        TEST(test_forgiven_failures_cost_no_retries),
        TEST(test_a_retry_that_succeeds_is_done_and_says_nothing_of_before),
        TEST(test_a_failure_without_a_cause_gets_the_one_it_shows),
        TEST(test_a_place_taken_away_is_told_apart_from_a_lost_node),
        TEST(test_who_is_cut_off_twice_without_a_time_fails),
        TEST(test_a_worker_that_is_gone_counts_where_retry_names_it),
        TEST(test_the_gpus_of_a_job_are_those_that_its_worker_named_first),
        TEST(test_what_ran_is_spent_whatever_came_of_it_and_only_once),
        TEST(test_what_never_ran_has_spent_nothing),
        TEST(test_a_lost_attempt_has_spent_until_it_was_lost_and_what_it_says_once_it_is_back),
        TEST(test_one_thought_lost_that_had_published_is_counted_by_its_own_report),
        TEST(test_a_withdrawal_gives_nothing_back),
        TEST(test_a_cancel_in_the_turn_of_the_registration_stops_the_attempt),
        TEST(test_what_runs_in_another_sweep_is_waited_for_and_taken),
        TEST(test_what_came_to_nothing_elsewhere_is_queued_by_the_first_that_waited),
        TEST(test_a_job_that_waited_and_was_cancelled_takes_the_result_when_it_is_retried),
        TEST(test_what_ends_during_a_submit_counts_for_it),
        TEST(test_nothing_is_waited_for_where_all_is_to_run),
        TEST(test_a_job_whose_node_lacks_its_environment_goes_to_another),
        TEST(test_it_fails_where_every_node_lacks_it),
        TEST(test_a_node_that_is_too_small_is_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

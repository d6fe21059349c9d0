/* SPDX-License-Identifier: MIT */
/* stops.c - tests of what is told to the rule, and of what becomes of jobs that it stops */

#include "tests/unit/server_player.h"

#include <math.h>

#include "server/search/stop_rule.h"
#include "server/search/stops.h"

enum { CPUS = 4 };

/* Losses above 4 are stopped from step 2 on. */
static struct submit stopping(const char *project)
{
    struct submit submit = submit_of(project, 1);

    submit.begin.stop = (struct stop_policy){
        .rule = "threshold", .first = 2, .has_threshold = true, .threshold = 4
    };
    submit.begin.ranking = (struct ranking){ "loss", GOAL_MIN };
    return submit;
}

static struct scene *scene_of(int64_t n_jobs)
{
    struct scene *s = scene_open();

    s->sweep = submit_all(s->client, stopping("p"), 1, n_jobs).sweep;
    join(s->f, &s->w, "n1", CPUS);
    return s;
}

static void scene_close(struct scene *s)
{
    void *state = s;

    tear_down(&state);
}

static void tell_values(struct player *w, struct measured *values, size_t n)
{
    struct msg_measured body = { .values = { values, n } };
    int64_t re = peer_send(w->peer, MSG_MEASURED, &body);
    struct envelope m;

    for (;;) {
        assert_true(peer_receive_any(w->peer, &m) >= 0);
        if (m.re == re)
            break;
        keep(w, &m);
    }
    assert_int_equal(m.type, MSG_OK);
    listen_to(w);
}

static void tell_value(struct player *w, const struct token *token, int64_t step, double value)
{
    struct measured v = { *token, step, value };

    tell_values(w, &v, 1);
}

static void runs(struct scene *s, size_t i)
{
    tell(&s->w, &s->w.hand[i], EV_RUN);
}

static void ends_as_told(struct scene *s, size_t i)
{
    struct metric loss = { "loss", 9, 2, 9, 9, 2 };

    assert_int_equal(report(&s->w, (struct report){ .token = s->w.hand[i].token,
                                                    .event = EV_STOP,
                                                    .exit_code = SCHEMA_NONE,
                                                    .signal = 15,
                                                    .reason = "worse",
                                                    .at = 5000,
                                                    .started_at = 4000,
                                                    .ended_at = 5000,
                                                    .metrics = { &loss, 1 } }),
                     VERDICT_TAKEN);
}

static int64_t rows(struct scene *s)
{
    struct stmt *q =
        db_ask(s->f->sv.db, SQL_STOP_EVENTS, "iii", s->sweep, (int64_t)0, (int64_t)1000);
    int64_t n = 0;

    while (stmt_step(q, NULL) == 1)
        n++;
    return n;
}

static enum job_state state_of(struct scene *s, int64_t no)
{
    return (enum job_state)job_of(s->client, s->sweep, no).state;
}

/* The next ludwigd: the worker, which has kept its attempts from that one on, is back. */
static void start_again(struct scene *s, size_t first)
{
    struct held held[2 * CPUS];
    size_t n = 0;

    for (size_t i = first; n < sizeof held / sizeof held[0] && i < s->w.n_hand; i++)
        held[n++] = (struct held){ s->w.hand[i].token, ATTEMPT_RUNNING, 4000 };
    peer_close(s->w.peer);
    peer_close(s->client);
    server_close(&s->f->sv);
    fixture_start(s->f);
    s->client = client_connect(s->f);
    s->w.reg.attempts = (struct list){ held, n };
    s->w.n_early = 0;
    join(s->f, &s->w, "n1", CPUS);
    s->w.reg.attempts = (struct list){ 0 };
}

/* ---- what workers tell ---- */

static void a_hand_says_what_is_asked_for(void **state)
{
    static const struct {
        struct stop_policy stop;
        bool nan, tells, ends_nan;
    } cases[] = {
        { { 0 }, false, false, false },
        { { .rule = "asha", .step = "epoch" }, false, true, false },
        { { .rule = "asha" }, true, true, true },
        { { 0 }, true, false, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene *s = scene_open();
        struct submit submit = stopping("p");

        submit.begin.stop = cases[i].stop;
        submit.begin.guard.nan = cases[i].nan;
        submit_all(s->client, submit, 1, 1);
        join(s->f, &s->w, "n1", CPUS);
        assert_int_equal(s->w.n_hand, 1);
        assert_int_equal(s->w.live.metric != NULL, cases[i].tells || cases[i].ends_nan);
        assert_int_equal(s->w.live.tells, cases[i].tells);
        assert_int_equal(s->w.live.ends_nan, cases[i].ends_nan);
        if (cases[i].stop.step != NULL)
            assert_string_equal(s->w.live.step, cases[i].stop.step);
        scene_close(s);
    }
}

static void a_policy_that_cannot_be_carried_out_is_refused(void **state)
{
    struct scene *s = scene_open();
    struct submit submit = stopping("p");

    (void)state;
    submit.begin.stop.rule = "ashes";
    peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE);
    submit = stopping("p");
    submit.begin.ranking.metric = NULL;
    assert_non_null(strstr(peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE),
                           "results: metric:"));
    submit = stopping("p");
    submit.begin.work.batch = 2;
    peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE);
    submit = stopping("p");
    submit.begin.stop.has_threshold = false;
    peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE);
    scene_close(s);
}

/* ---- decisions ---- */

static void what_the_rule_stops_is_told_to_end_and_is_stopped(void **state)
{
    struct scene *s = scene_of(2);
    struct msg_why why;
    struct msg_ask_why ask = { s->sweep, 1 };

    (void)state;
    runs(s, 0);
    runs(s, 1);
    tell_value(&s->w, &s->w.hand[0].token, 1, 9);
    assert_int_equal(s->w.n_early, 0);
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    tell_value(&s->w, &s->w.hand[1].token, 2, 3);
    assert_int_equal(s->w.n_early, 1);
    assert_true(token_equal(&s->w.early[0].token, &s->w.hand[0].token));
    assert_non_null(strstr(s->w.early[0].reason, "at step 2"));
    assert_int_equal(state_of(s, 1), JOB_RUNNING);
    ends_as_told(s, 0);
    tell(&s->w, &s->w.hand[1], EV_DONE);
    assert_int_equal(state_of(s, 1), JOB_STOPPED);
    assert_int_equal(state_of(s, 2), JOB_DONE);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_DONE);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.stopped, 1);
    assert_string_equal(job_of(s->client, s->sweep, 1).reason, s->w.early[0].reason);
    assert_non_null(strstr(job_of(s->client, s->sweep, 1).run_path, "p/stopped/param_001/"));
    peer_ask(s->client, MSG_ASK_WHY, &ask, &why);
    assert_non_null(strstr(((const char *const *)why.lines.items)[0], s->w.early[0].reason));
    scene_close(s);
}

static void the_same_value_again_is_answered_alike_and_decides_nothing(void **state)
{
    struct scene *s = scene_of(1);
    int64_t n;

    (void)state;
    runs(s, 0);
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    n = rows(s);
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    assert_int_equal(rows(s), n);
    assert_int_equal(s->w.n_early, 2);
    assert_string_equal(s->w.early[0].reason, s->w.early[1].reason);
    scene_close(s);
}

static void a_job_that_ends_by_itself_is_what_it_ended_as(void **state)
{
    static const struct {
        enum attempt_event event;
        enum cause cause;
        const char *retry;
        enum job_state becomes;
    } cases[] = {
        { EV_DONE, CAUSE_NONE, NULL, JOB_DONE },
        { EV_FAIL, CAUSE_FAILED, NULL, JOB_FAILED },
        /* what would be tried again is not */
        { EV_FAIL, CAUSE_FAILED, "failed", JOB_STOPPED },
        { EV_LOSE, CAUSE_NODE_LOST, NULL, JOB_STOPPED },
        { EV_LOSE, CAUSE_PREEMPTED, NULL, JOB_STOPPED },
        { EV_CANCEL, CAUSE_NONE, NULL, JOB_STOPPED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene *s = scene_open();
        struct submit submit = stopping("p");

        if (cases[i].retry != NULL)
            submit.begin.retry = (struct retry){ .max = 3, .on = { (void *)&cases[i].retry, 1 } };
        s->sweep = submit_all(s->client, submit, 1, 1).sweep;
        join(s->f, &s->w, "n1", CPUS);
        runs(s, 0);
        tell_value(&s->w, &s->w.hand[0].token, 2, 9);
        assert_int_equal(s->w.n_early, 1);
        report(&s->w, (struct report){ .token = s->w.hand[0].token,
                                       .event = (int)cases[i].event,
                                       .cause = (int)cases[i].cause,
                                       .exit_code = cases[i].event == EV_FAIL ? 1 : SCHEMA_NONE,
                                       .at = 5000,
                                       .started_at = 4000,
                                       .ended_at = 5000 });
        assert_int_equal(state_of(s, 1), cases[i].becomes);
        assert_int_equal(s->w.n_hand, 1);
        scene_close(s);
    }
}

/* A value of an attempt that was lost meanwhile may come late. */
static void a_job_that_waits_is_stopped_as_well(void **state)
{
    struct scene *s = scene_of(1);

    (void)state;
    runs(s, 0);
    cancel(s->client, s->sweep, 99); /* nothing: only the order of messages */
    s->w.reg.cpus_milli = 0;
    assert_int_equal(report(&s->w, (struct report){ .token = s->w.hand[0].token,
                                                    .event = EV_LOSE,
                                                    .exit_code = SCHEMA_NONE,
                                                    .at = 5000,
                                                    .started_at = 4000,
                                                    .ended_at = 5000 }),
                     VERDICT_TAKEN);
    assert_int_equal(s->w.n_hand, 2); /* it was handed out again */
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    assert_int_equal(s->w.n_early, 1);
    assert_true(token_equal(&s->w.early[0].token, &s->w.hand[1].token));
    tell(&s->w, &s->w.hand[1], EV_RECALL);
    assert_int_equal(state_of(s, 1), JOB_STOPPED);
    assert_int_equal(s->w.n_hand, 2);
    scene_close(s);
}

static void values_of_others_attempts_are_passed_over(void **state)
{
    struct scene *s = scene_of(1);
    struct player other = { .peer = NULL };
    struct token unknown;

    (void)state;
    runs(s, 0);
    join(s->f, &other, "n2", CPUS);
    tell_value(&other, &s->w.hand[0].token, 2, 9);
    token_make(&unknown);
    tell_value(&s->w, &unknown, 2, 9);
    assert_int_equal(s->w.n_early + other.n_early, 0);
    assert_int_equal(rows(s), 0);
    peer_close(other.peer);
    scene_close(s);
}

static void a_sweep_that_stops_nothing_keeps_nothing(void **state)
{
    struct scene *s = scene_open();

    (void)state;
    s->sweep = submit_all(s->client, submit_of("p", 1), 1, 1).sweep;
    join(s->f, &s->w, "n1", CPUS);
    runs(s, 0);
    tell_value(&s->w, &s->w.hand[0].token, 2, (double)NAN);
    assert_int_equal(rows(s), 0);
    tell(&s->w, &s->w.hand[0], EV_DONE);
    assert_int_equal(state_of(s, 1), JOB_DONE);
    scene_close(s);
}

static void many_values_in_a_message_are_all_taken(void **state)
{
    struct scene *s = scene_of(CPUS);
    struct measured values[MEASURED_MAX];

    (void)state;
    for (size_t i = 0; i < MEASURED_MAX; i++)
        values[i] = (struct measured){ s->w.hand[i / (MEASURED_MAX / CPUS)].token,
                                       (int64_t)i % (MEASURED_MAX / CPUS),
                                       i / (MEASURED_MAX / CPUS) == 1 ? 5 : 1 };
    for (size_t i = 0; i < CPUS; i++)
        runs(s, i);
    tell_values(&s->w, values, MEASURED_MAX);
    assert_int_equal(s->w.n_early, 2);
    for (size_t i = 0; i < s->w.n_early; i++)
        assert_true(token_equal(&s->w.early[i].token, &s->w.hand[1].token));
    scene_close(s);
}

/* ---- later ---- */

static void the_next_ludwigd_decides_nothing_twice_and_tells_it_again(void **state)
{
    struct scene *s = scene_of(3);
    int64_t n;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        runs(s, i);
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    tell(&s->w, &s->w.hand[2], EV_DONE);
    n = rows(s);
    assert_true(n > 0);
    start_again(s, 0);
    assert_int_equal(rows(s), n);
    assert_int_equal(s->w.n_early, 1);
    assert_true(token_equal(&s->w.early[0].token, &s->w.hand[0].token));
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    assert_int_equal(rows(s), n);
    tell_value(&s->w, &s->w.hand[1].token, 2, 8);
    assert_int_equal(rows(s), n + 1);
    assert_true(token_equal(&s->w.early[s->w.n_early - 1].token, &s->w.hand[1].token));
    scene_close(s);
}

static void retry_alone(struct scene *s, const char *name)
{
    struct target target = { s->sweep, 1, 1 };
    struct msg_retry body = { .targets = { &target, 1 }, .states = { &name, name != NULL } };

    peer_ask(s->client, MSG_RETRY, &body, NULL);
    listen_to(&s->w);
}

static void who_is_retried_by_name_is_not_stopped_again(void **state)
{
    struct scene *s = scene_of(1);

    (void)state;
    runs(s, 0);
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    ends_as_told(s, 0);
    retry_alone(s, NULL);
    assert_int_equal(state_of(s, 1), JOB_STOPPED);
    retry_alone(s, "stopped");
    assert_int_equal(s->w.n_hand, 2);
    runs(s, 1);
    s->w.n_early = 0;
    tell_value(&s->w, &s->w.hand[1].token, 2, 9);
    tell_value(&s->w, &s->w.hand[1].token, 7, 19);
    assert_int_equal(s->w.n_early, 0);
    tell(&s->w, &s->w.hand[1], EV_DONE);
    assert_int_equal(state_of(s, 1), JOB_DONE);
    scene_close(s);
}

static void a_later_sweep_takes_a_stopped_job_as_it_is(void **state)
{
    struct scene *s = scene_of(1);
    struct submit none = stopping("p");

    (void)state;
    runs(s, 0);
    tell_value(&s->w, &s->w.hand[0].token, 2, 9);
    /* One that waits for it takes it as well. */
    assert_int_equal(submit_all(s->client, stopping("p"), 1, 1).followed, 1);
    ends_as_told(s, 0);
    assert_int_equal(sweep_of(s->client, 2).reused, 1);
    assert_int_equal(sweep_of(s->client, 2).state, SWEEP_DONE);
    assert_int_equal(submit_all(s->client, stopping("p"), 1, 1).reused, 1);
    none.begin.reuse = REUSE_NONE;
    assert_int_equal(submit_all(s->client, none, 1, 1).queued, 1);
    scene_close(s);
}

static void the_words_of_the_rules_are_the_same_on_both_sides(void **state)
{
    (void)state;
    for (int i = 0; i < STOP_WORDS; i++)
        assert_int_not_equal(stop_rule_by_word(stop_words[i]), 0);
#define X(name, number, word, sentence) assert_string_equal(stop_words[(number)-1], word);
    STOP_RULES(X)
#undef X
}

/* ---- stopped jobs that go on ---- */

enum { STEPS = 8, TRAININGS = 24 };

static struct submit resuming(void)
{
    struct submit submit = submit_of("p", 1);

    submit.begin.stop = (struct stop_policy){
        .rule = "asha", .first = 1, .eta = 2, .max_step = STEPS, .resume = true
    };
    submit.begin.ranking = (struct ranking){ "loss", GOAL_MIN };
    return submit;
}

/* Those that come early are worse. */
static double loss_of(int64_t job, int64_t step)
{
    return (double)(job * 17 % 29) - 0.5 * (double)job + 10.0 / (double)step;
}

static void ends_at(struct scene *s, const struct assignment *a, enum attempt_event event,
                    int64_t step, bool has_checkpoint)
{
    double loss = loss_of(a->job, step);
    struct metric metric = { "loss", loss, step, loss, loss, step };

    assert_int_equal(report(&s->w, (struct report){ .token = a->token,
                                                    .event = (int)event,
                                                    .exit_code = SCHEMA_NONE,
                                                    .signal = SCHEMA_NONE,
                                                    .at = 5000,
                                                    .started_at = 4000,
                                                    .ended_at = 5000,
                                                    .metrics = { &metric, 1 },
                                                    .has_checkpoint = has_checkpoint }),
                     VERDICT_TAKEN);
}

/* The job goes on behind the steps that it has reached, until it is told to stop or has done all. */
static void trains(struct scene *s, size_t i, int64_t reached[TRAININGS], bool has_checkpoint)
{
    const struct assignment a = s->w.hand[i];
    int64_t *step = &reached[a.job - 1];

    runs(s, i);
    while (*step < STEPS) {
        s->w.n_early = 0;
        ++*step;
        tell_value(&s->w, &a.token, *step, loss_of(a.job, *step));
        if (s->w.n_early > 0) {
            assert_true(*step < STEPS && token_equal(&s->w.early[0].token, &a.token));
            ends_at(s, &a, EV_STOP, *step, has_checkpoint);
            return;
        }
    }
    ends_at(s, &a, EV_DONE, *step, false);
}

/* Plays all jobs as they are handed out; ludwigd is started again after so many; 0: never. */
static struct scene *train_to_the_end(size_t restart_after, bool has_checkpoint)
{
    struct scene *s = scene_open();
    int64_t reached[TRAININGS] = { 0 };

    s->sweep = submit_all(s->client, resuming(), 1, TRAININGS).sweep;
    join(s->f, &s->w, "n1", CPUS);
    for (size_t i = 0; i < s->w.n_hand; i++) {
        assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_RUNNING);
        trains(s, i, reached, has_checkpoint);
        if (restart_after > 0 && i + 1 == restart_after)
            start_again(s, i + 1);
        listen_to(&s->w);
    }
    for (size_t i = 0; i < TRAININGS; i++)
        assert_int_equal(state_of(s, (int64_t)i + 1), reached[i] == STEPS ? JOB_DONE : JOB_STOPPED);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_DONE);
    return s;
}

static void a_stopped_job_goes_on_before_others_begin(void **state)
{
    struct scene *s = scene_open();
    struct msg_ask_why ask;
    struct msg_why why;

    (void)state;
    s->sweep = submit_all(s->client, resuming(), 1, 8).sweep;
    join(s->f, &s->w, "n1", CPUS);
    for (size_t i = 0; i < CPUS; i++)
        runs(s, i);
    tell_value(&s->w, &s->w.hand[0].token, 1, 1);
    tell_value(&s->w, &s->w.hand[1].token, 1, 2);
    assert_int_equal(s->w.n_early, 1);
    ends_at(s, &s->w.hand[1], EV_STOP, 1, true);
    listen_to(&s->w);
    assert_int_equal(s->w.hand[CPUS].job, 5);
    assert_int_equal(state_of(s, 2), JOB_STOPPED);
    ask = (struct msg_ask_why){ s->sweep, 2 };
    peer_ask(s->client, MSG_ASK_WHY, &ask, &why);
    assert_non_null(
        strstr(((const char *const *)why.lines.items)[2], "goes on from its checkpoint"));
    /* By now it is number 2 of 3, but no slot is free. */
    tell_value(&s->w, &s->w.hand[2].token, 1, 3);
    assert_int_equal(s->w.n_early, 2);
    assert_int_equal(state_of(s, 2), JOB_STOPPED);
    ends_at(s, &s->w.hand[2], EV_STOP, 1, true);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, CPUS + 2);
    assert_int_equal(s->w.hand[CPUS + 1].job, 2);
    assert_int_equal(s->w.hand[CPUS + 1].attempt, 2);
    assert_int_equal(state_of(s, 3), JOB_STOPPED);
    runs(s, CPUS + 1);
    peer_ask(s->client, MSG_ASK_WHY, &ask, &why);
    assert_string_equal(((const char *const *)why.lines.items)[2],
                        "it was stopped early, and taken up again from its checkpoint: loss 2 at "
                        "step 1 is number 2 of 3 by now; the best 2 go on");
    /* A late value of the attempt before changes nothing, a worse one of this attempt stops it again. */
    s->w.n_early = 0;
    tell_value(&s->w, &s->w.hand[1].token, 1, 9);
    assert_int_equal(s->w.n_early, 0);
    tell_value(&s->w, &s->w.hand[0].token, 2, 1);
    tell_value(&s->w, &s->w.hand[CPUS + 1].token, 2, 9);
    assert_int_equal(s->w.n_early, 1);
    assert_true(token_equal(&s->w.early[0].token, &s->w.hand[CPUS + 1].token));
    scene_close(s);
}

/* Its node is lost: it is the next one again, and nobody has decided anything new. */
static void a_job_that_goes_on_and_is_lost_is_the_next_again(void **state)
{
    struct scene *s = scene_open();
    int64_t n;

    (void)state;
    s->sweep = submit_all(s->client, resuming(), 1, 8).sweep;
    join(s->f, &s->w, "n1", 3);
    for (size_t i = 0; i < 3; i++)
        runs(s, i);
    for (size_t i = 0; i < 3; i++)
        tell_value(&s->w, &s->w.hand[i].token, 1, 1 + (double)i);
    ends_at(s, &s->w.hand[2], EV_STOP, 1, true);
    ends_at(s, &s->w.hand[1], EV_STOP, 1, true);
    listen_to(&s->w);
    assert_int_equal(s->w.hand[s->w.n_hand - 1].job, 2);
    runs(s, s->w.n_hand - 1);
    n = rows(s);
    ends_at(s, &s->w.hand[s->w.n_hand - 1], EV_LOSE, 1, false);
    listen_to(&s->w);
    assert_int_equal(s->w.hand[s->w.n_hand - 1].job, 2);
    assert_int_equal(s->w.hand[s->w.n_hand - 1].attempt, 3);
    assert_int_equal(rows(s), n);
    scene_close(s);
}

static void with_checkpoints_no_step_is_done_twice_and_more_come_to_their_end(void **state)
{
    struct scene *s = train_to_the_end(0, true), *none = train_to_the_end(0, false);
    int64_t attempts = 0;

    (void)state;
    for (int64_t no = 1; no <= TRAININGS; no++)
        attempts += job_of(s->client, s->sweep, no).attempt;
    assert_int_equal(attempts, s->w.n_hand);
    assert_true(s->w.n_hand > TRAININGS);
    /* Without a checkpoint none goes on. */
    assert_int_equal(none->w.n_hand, TRAININGS);
    assert_true(sweep_of(s->client, s->sweep).jobs.done >=
                sweep_of(none->client, none->sweep).jobs.done);
    scene_close(none);
    scene_close(s);
}

static void the_next_ludwigd_takes_up_the_same_jobs(void **state)
{
    struct scene *whole = train_to_the_end(0, true);

    (void)state;
    for (size_t after = 1; after < whole->w.n_hand; after += 3) {
        struct scene *s = train_to_the_end(after, true);

        assert_int_equal(s->w.n_hand, whole->w.n_hand);
        for (size_t i = 0; i < s->w.n_hand; i++)
            assert_int_equal(s->w.hand[i].job, whole->w.hand[i].job);
        assert_int_equal(rows(s), rows(whole));
        scene_close(s);
    }
    scene_close(whole);
}

static void cancel_all(struct scene *s, int64_t n_changed)
{
    struct target target = { s->sweep, 0, 0 };
    struct msg_cancel body = { .targets = { &target, 1 } };
    struct msg_changed changed;

    peer_ask(s->client, MSG_CANCEL, &body, &changed);
    assert_int_equal(changed.jobs, n_changed);
    assert_int_equal(changed.searches, 0);
    listen_to(&s->w);
}

static void a_sweep_that_is_cancelled_takes_none_up(void **state)
{
    struct scene *s = scene_open();

    (void)state;
    s->sweep = submit_all(s->client, resuming(), 1, 3).sweep;
    join(s->f, &s->w, "n1", CPUS);
    for (size_t i = 0; i < 3; i++)
        runs(s, i);
    tell_value(&s->w, &s->w.hand[0].token, 1, 1);
    tell_value(&s->w, &s->w.hand[1].token, 1, 2);
    ends_at(s, &s->w.hand[1], EV_STOP, 1, true);
    tell_value(&s->w, &s->w.hand[2].token, 1, 0); /* number 2 is 3rd of 3 */
    assert_int_equal(state_of(s, 2), JOB_STOPPED);
    cancel_all(s, 3);
    tell(&s->w, &s->w.hand[0], EV_CANCEL);
    tell(&s->w, &s->w.hand[2], EV_CANCEL);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 3);
    assert_int_equal(state_of(s, 2), JOB_STOPPED);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_CANCELLED);
    scene_close(s);
}

static void an_advisor_and_a_sweep_that_resumes_exclude_each_other(void **state)
{
    struct scene *s = scene_open();
    struct submit submit = resuming();
    struct search search = { .configs = 3 };

    (void)state;
    submit.begin.search = (struct list){ &search, 1 };
    peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE);
    scene_close(s);
}

/* ---- racing ---- */

enum { RACE_CONFIGS = 12, RACE_MAX = 6, RACE_FIRST = 2 };

/* Configuration 1 is the best, and the others are the worse the later they come. */
static struct submit racing(void)
{
    struct submit submit = submit_of("p", RACE_MAX);

    submit.begin.stop = (struct stop_policy){ .race = RACE_FIRST };
    submit.begin.ranking = (struct ranking){ "loss", GOAL_MIN };
    return submit;
}

static int64_t config_of(int64_t job)
{
    return (job - 1) / RACE_MAX + 1;
}

static void ends_race_job(struct scene *s, const struct assignment *a)
{
    double loss = (double)config_of(a->job) + 0.1 * (double)((a->rep * 7 + a->job * 3) % 5);
    struct metric metric = { "loss", loss, 1, loss, loss, 1 };

    assert_int_equal(report(&s->w, (struct report){ .token = a->token,
                                                    .event = EV_DONE,
                                                    .at = 5000,
                                                    .started_at = 4000,
                                                    .ended_at = 5000,
                                                    .metrics = { &metric, 1 } }),
                     VERDICT_TAKEN);
}

/* Ends all jobs as they are handed out; ludwigd is started again after so many; 0: never. */
static struct scene *race_to_the_end(size_t restart_after)
{
    struct scene *s = scene_open();

    s->sweep = submit_all(s->client, racing(), 1, RACE_CONFIGS).sweep;
    join(s->f, &s->w, "n1", CPUS);
    for (size_t i = 0; i < s->w.n_hand; i++) {
        ends_race_job(s, &s->w.hand[i]);
        if (restart_after > 0 && i + 1 == restart_after)
            start_again(s, i + 1);
        listen_to(&s->w);
    }
    return s;
}

static void what_is_behind_for_sure_gets_no_more_replications(void **state)
{
    struct scene *s = race_to_the_end(0);
    struct job_counts counts = sweep_of(s->client, s->sweep).jobs;
    struct msg_ask_why ask = { s->sweep, RACE_CONFIGS * RACE_MAX };
    struct msg_why why;

    (void)state;
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_DONE);
    assert_int_equal(counts.done + counts.stopped, RACE_CONFIGS * RACE_MAX);
    assert_int_equal(counts.done, s->w.n_hand);
    /* Fewer than two thirds were worth running; each has what it gets in any case, the best all. */
    assert_in_range(counts.done, RACE_CONFIGS * RACE_FIRST, RACE_CONFIGS * RACE_MAX * 2 / 3);
    for (int64_t no = 1; no <= RACE_CONFIGS * RACE_MAX; no++)
        if ((no - 1) % RACE_MAX < RACE_FIRST || config_of(no) == 1)
            assert_int_equal(state_of(s, no), JOB_DONE);
    /* breadth first */
    for (size_t i = 0; i < RACE_CONFIGS; i++)
        assert_int_equal(s->w.hand[i].rep, 0);
    assert_int_equal(state_of(s, RACE_CONFIGS * RACE_MAX), JOB_STOPPED);
    peer_ask(s->client, MSG_ASK_WHY, &ask, &why);
    assert_non_null(strstr(((const char *const *)why.lines.items)[0],
                           "it was not begun: it is behind number 1 by "));
    scene_close(s);
}

static void a_race_goes_on_where_the_last_ludwigd_was(void **state)
{
    struct scene *whole = race_to_the_end(0);

    (void)state;
    for (size_t after = 10; after < whole->w.n_hand; after += 9) {
        struct scene *s = race_to_the_end(after);

        for (int64_t no = 1; no <= RACE_CONFIGS * RACE_MAX; no++)
            assert_int_equal(state_of(s, no), state_of(whole, no));
        scene_close(s);
    }
    scene_close(whole);
}

static void a_user_may_run_what_the_race_has_dropped(void **state)
{
    struct scene *s = race_to_the_end(0);
    const int64_t last = RACE_CONFIGS * RACE_MAX;
    size_t n_hand = s->w.n_hand;
    struct target target = { s->sweep, last, last };
    const char *stopped = "stopped";
    struct msg_retry body = { .targets = { &target, 1 }, .states = { &stopped, 1 } };

    (void)state;
    peer_ask(s->client, MSG_RETRY, &body, NULL);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, n_hand + 1);
    assert_int_equal(s->w.hand[n_hand].job, last);
    ends_race_job(s, &s->w.hand[n_hand]);
    assert_int_equal(state_of(s, last), JOB_DONE);
    assert_int_equal(s->w.n_hand, n_hand + 1);
    scene_close(s);
}

/* A later sweep takes over what is done, and drops at once what that has decided. */
static void results_of_earlier_sweeps_race_along(void **state)
{
    struct scene *s = race_to_the_end(0);
    size_t n_hand = s->w.n_hand;
    struct submit again = racing();
    struct msg_submitted submitted;
    int64_t stopped;

    (void)state;
    again.begin.reps = RACE_MAX + 2;
    submitted = submit_all(s->client, again, 1, RACE_CONFIGS);
    assert_int_equal(submitted.reused, RACE_CONFIGS * RACE_MAX);
    s->sweep = submitted.sweep;
    listen_to(&s->w);
    /* But for what the worker was handed meanwhile. */
    stopped = sweep_of(s->client, s->sweep).jobs.stopped;
    assert_in_range(stopped, 2 * (RACE_CONFIGS - 1) - CPUS, 2 * (RACE_CONFIGS - 1));
    assert_int_equal(stopped + (int64_t)(s->w.n_hand - n_hand), 2 * RACE_CONFIGS);
    scene_close(s);
}

/* The worker has them, and has not begun. */
static void what_was_handed_ahead_is_called_back(void **state)
{
    struct scene *s = race_to_the_end(0);
    size_t n_hand = s->w.n_hand;
    struct submit again = racing();

    (void)state;
    again.begin.reps = RACE_MAX + 2;
    s->sweep = submit_all(s->client, again, 1, RACE_CONFIGS).sweep;
    listen_to(&s->w);
    /* Where ludwigd is slow the race decides before they are handed out, or while they are. */
    assert_in_range(s->w.n_recalled, 0, 2 * (RACE_CONFIGS - 1));
    for (size_t i = n_hand; i < s->w.n_hand; i++) {
        const struct assignment *a = &s->w.hand[i];
        bool is_recalled = false;

        for (size_t k = 0; k < s->w.n_recalled; k++)
            is_recalled |= token_equal(&s->w.recalled[k], &a->token);
        assert_int_equal(is_recalled, strcmp(a->param_name, "param_001") != 0);
        if (is_recalled) {
            tell(&s->w, a, EV_RECALL);
            assert_int_equal(state_of(s, a->job), JOB_STOPPED);
        } else {
            ends_race_job(s, a);
        }
        listen_to(&s->w);
    }
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.stopped, 2 * (RACE_CONFIGS - 1));
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_DONE);
    scene_close(s);
}

/* One that fails is behind; tried again when all was over it is the best. */
static void a_race_goes_on_when_jobs_are_retried(void **state)
{
    struct scene *s = scene_open();
    struct submit submit = racing();
    struct target target;
    struct msg_retry body = { .targets = { &target, 1 } };
    struct job_counts before, after;
    size_t first;

    (void)state;
    s->sweep = submit_all(s->client, submit, 1, RACE_CONFIGS).sweep;
    join(s->f, &s->w, "n1", CPUS);
    for (size_t i = 0; i < s->w.n_hand; i++) {
        if (config_of(s->w.hand[i].job) == 1)
            assert_int_equal(report(&s->w, (struct report){ .token = s->w.hand[i].token,
                                                            .event = EV_FAIL,
                                                            .exit_code = 1,
                                                            .at = 5000,
                                                            .started_at = 4000,
                                                            .ended_at = 5000 }),
                             VERDICT_TAKEN);
        else
            ends_race_job(s, &s->w.hand[i]);
        listen_to(&s->w);
    }
    before = sweep_of(s->client, s->sweep).jobs;
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_FAILED);
    assert_true(before.failed >= RACE_FIRST && before.failed < RACE_MAX);
    first = s->w.n_hand;
    target = (struct target){ s->sweep, 1, RACE_MAX };
    peer_ask(s->client, MSG_RETRY, &body, NULL);
    listen_to(&s->w);
    for (size_t i = first; i < s->w.n_hand; i++) {
        ends_race_job(s, &s->w.hand[i]);
        listen_to(&s->w);
    }
    after = sweep_of(s->client, s->sweep).jobs;
    assert_int_equal(after.failed, 0);
    for (int64_t no = 1; no <= RACE_MAX; no++)
        assert_int_equal(state_of(s, no), JOB_DONE);
    assert_int_equal(sweep_of(s->client, s->sweep).state, SWEEP_DONE);
    scene_close(s);
}

static void a_race_that_cannot_be_is_refused(void **state)
{
    struct scene *s = scene_open();
    struct submit submit = racing();

    (void)state;
    submit.begin.stop.race = RACE_MAX + 1;
    assert_non_null(strstr(peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE),
                           "1 to max, which is 6"));
    submit = racing();
    submit.begin.ranking.metric = NULL;
    assert_non_null(strstr(peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE),
                           "results: metric:"));
    submit = racing();
    submit.begin.stop.rule = "median";
    assert_non_null(strstr(peer_refused(s->client, MSG_SUBMIT_BEGIN, &submit.begin, ERR_USAGE),
                           "exclude each other"));
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_says_what_is_asked_for),
        cmocka_unit_test(a_policy_that_cannot_be_carried_out_is_refused),
        cmocka_unit_test(what_the_rule_stops_is_told_to_end_and_is_stopped),
        cmocka_unit_test(the_same_value_again_is_answered_alike_and_decides_nothing),
        cmocka_unit_test(a_job_that_ends_by_itself_is_what_it_ended_as),
        cmocka_unit_test(a_job_that_waits_is_stopped_as_well),
        cmocka_unit_test(values_of_others_attempts_are_passed_over),
        cmocka_unit_test(a_sweep_that_stops_nothing_keeps_nothing),
        cmocka_unit_test(many_values_in_a_message_are_all_taken),
        cmocka_unit_test(the_next_ludwigd_decides_nothing_twice_and_tells_it_again),
        cmocka_unit_test(who_is_retried_by_name_is_not_stopped_again),
        cmocka_unit_test(a_later_sweep_takes_a_stopped_job_as_it_is),
        cmocka_unit_test(the_words_of_the_rules_are_the_same_on_both_sides),
        cmocka_unit_test(a_stopped_job_goes_on_before_others_begin),
        cmocka_unit_test(a_job_that_goes_on_and_is_lost_is_the_next_again),
        cmocka_unit_test(with_checkpoints_no_step_is_done_twice_and_more_come_to_their_end),
        cmocka_unit_test(the_next_ludwigd_takes_up_the_same_jobs),
        cmocka_unit_test(a_sweep_that_is_cancelled_takes_none_up),
        cmocka_unit_test(an_advisor_and_a_sweep_that_resumes_exclude_each_other),
        cmocka_unit_test(what_is_behind_for_sure_gets_no_more_replications),
        cmocka_unit_test(a_race_goes_on_where_the_last_ludwigd_was),
        cmocka_unit_test(a_user_may_run_what_the_race_has_dropped),
        cmocka_unit_test(results_of_earlier_sweeps_race_along),
        cmocka_unit_test(what_was_handed_ahead_is_called_back),
        cmocka_unit_test(a_race_goes_on_when_jobs_are_retried),
        cmocka_unit_test(a_race_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

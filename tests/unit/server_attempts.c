/* SPDX-License-Identifier: MIT */
/* server_attempts.c - tests of what reports, leases and people make of attempts and jobs */

#include "tests/unit/server_fixture.h"

#include "server/attempts.h"
#include "server/lease.h"

/* A worker as these tests play it: it remembers what it was handed. */
struct player {
    struct peer *peer;
    struct msg_register reg;
    struct assignment hand[64];
    size_t n_hand;
    size_t n_hands; /* messages */
    struct token stopped[64];
    size_t n_stopped;
    int64_t seq;
};

static void keep(struct player *w, const struct envelope *m)
{
    if (m->type == MSG_HAND) {
        struct msg_hand hand;
        const struct assignment *items;

        read_body(w->peer, m, &hand);
        items = hand.assignments.items;
        w->n_hands++;
        for (size_t i = 0; i < hand.assignments.n; i++)
            w->hand[w->n_hand++] = items[i];
    } else if (m->type == MSG_STOP_ATTEMPTS) {
        struct msg_stop_attempts order;
        const struct token_entry *items;

        read_body(w->peer, m, &order);
        items = order.tokens.items;
        for (size_t i = 0; i < order.tokens.n; i++)
            w->stopped[w->n_stopped++] = items[i].token;
    }
}

/* Takes in all that has come. */
static void listen_to(struct player *w)
{
    struct envelope m;

    fixture_settle(w->peer->f);
    while (peer_look(w->peer, &m) == 1) {
        m.body = value_copy(w->peer->f->arena, &m.body);
        keep(w, &m);
        fixture_turn(w->peer->f);
    }
}

static struct msg_registered join(struct fixture *f, struct player *w, const char *node,
                                  int64_t cpus)
{
    struct msg_registered answer;
    struct envelope m;
    int64_t re;

    if (token_is_zero(&w->reg.worker)) {
        token_make(&w->reg.worker);
        w->reg.boot_id = "boot";
        w->reg.node = node;
        w->reg.kind = "node";
        w->reg.cpus_milli = 1000 * cpus;
        w->reg.memory_bytes = INT64_C(1) << 40;
    }
    token_make(&w->reg.incarnation);
    w->peer = peer_connect(f);
    peer_hello(w->peer, "ludwig-worker");
    re = peer_send(w->peer, MSG_REGISTER, &w->reg);
    for (;;) {
        assert_true(peer_receive_any(w->peer, &m) >= 0);
        if (m.re == re)
            break;
        keep(w, &m);
    }
    assert_int_equal(m.type, MSG_REGISTERED);
    read_body(w->peer, &m, &answer);
    listen_to(w);
    return answer;
}

static enum verdict report(struct player *w, struct report r)
{
    struct msg_report body = { { &r, 1 } };
    struct msg_verdicts answer;
    struct envelope m;
    int64_t re;

    r.seq = ++w->seq;
    if (r.signal == 0)
        r.signal = SCHEMA_NONE;
    re = peer_send(w->peer, MSG_REPORT, &body);
    for (;;) {
        assert_true(peer_receive_any(w->peer, &m) >= 0);
        if (m.re == re)
            break;
        keep(w, &m);
    }
    assert_int_equal(m.type, MSG_VERDICTS);
    read_body(w->peer, &m, &answer);
    assert_int_equal(answer.verdicts.n, 1);
    listen_to(w);
    return (enum verdict)((const struct verdict_entry *)answer.verdicts.items)->verdict;
}

static enum verdict tell(struct player *w, const struct assignment *a, enum attempt_event event)
{
    return report(w, (struct report){ .token = a->token,
                                      .event = (int)event,
                                      .at = 5000,
                                      .started_at = 4000,
                                      .ended_at = 5000 });
}

/* What the server says about job no of the sweep. */
static struct job_info job_of(struct peer *client, int64_t sweep, int64_t no)
{
    struct msg_get_jobs ask = { .sweep = sweep, .after = no - 1, .last = no, .limit = 1 };
    struct msg_job_page page;

    peer_ask(client, MSG_GET_JOBS, &ask, &page);
    assert_int_equal(page.jobs.n, 1);
    return *(const struct job_info *)page.jobs.items;
}

static struct sweep_info sweep_of(struct peer *client, int64_t sweep)
{
    struct msg_get_sweeps ask = { .sweep = sweep, .limit = 1 };
    struct msg_sweep_page page;

    peer_ask(client, MSG_GET_SWEEPS, &ask, &page);
    assert_int_equal(page.sweeps.n, 1);
    return *(const struct sweep_info *)page.sweeps.items;
}

static void cancel(struct peer *client, int64_t sweep, int64_t no)
{
    struct target target = { sweep, no, no };
    struct msg_cancel body = { { &target, 1 } };

    peer_ask(client, MSG_CANCEL, &body, NULL);
}

static void retry(struct peer *client, int64_t sweep, int64_t no)
{
    struct target target = { sweep, no, no };
    struct msg_retry body = { { &target, 1 } };

    peer_ask(client, MSG_RETRY, &body, NULL);
}

/* One job queued, one worker that has been handed it. */
struct scene {
    struct fixture *f;
    struct peer *client;
    int64_t sweep;
    struct player w;
};

static int set_up(void **state)
{
    struct scene *s = mem_alloc(sizeof *s);

    s->f = fixture_open();
    s->client = client_connect(s->f);
    s->sweep = submit_all(s->client, submit_of("p", 1), 1, 1).sweep;
    join(s->f, &s->w, "n1", 4);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    if (s->w.peer != NULL)
        peer_close(s->w.peer);
    peer_close(s->client);
    fixture_close(s->f);
    free(s);
    return 0;
}

static void leave(struct scene *s)
{
    peer_close(s->w.peer);
    s->w.peer = NULL;
    fixture_settle(s->f);
}

/* As if the lease of every silent worker had run out. */
static void let_leases_end(struct scene *s)
{
    s->f->sv.conf.lease_ms = 0;
    leases_load(&s->f->sv, NULL);
    for (int i = 0; i < 5; i++)
        fixture_settle(s->f);
    s->f->sv.conf.lease_ms = 600000;
}

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
    struct metric metrics[] = { { "accuracy", 0.5, 3 }, { "loss", 2.5, SCHEMA_NONE } };
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
    struct metric metric = { "accuracy", 0.5, SCHEMA_NONE };
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_job_goes_its_way_to_done),
        TEST(test_a_report_made_twice_is_known),
        TEST(test_an_attempt_nobody_knows_does_not_count),
        TEST(test_another_worker_cannot_report_on_it),
        TEST(test_a_failed_job_is_failed_until_it_is_retried),
        TEST(test_a_lost_attempt_is_run_again_but_not_for_ever),
        TEST(test_a_recalled_attempt_goes_back_to_the_queue),
        TEST(test_a_cancelled_job_is_over_at_once_and_its_attempt_is_stopped),
        TEST(test_done_of_a_cancelled_job_is_withdrawn),
        TEST(test_a_withdrawal_that_crosses_a_retry_ends_well),
        TEST(test_a_silent_workers_jobs_are_given_out_again_after_the_lease),
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

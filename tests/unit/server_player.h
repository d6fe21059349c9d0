/* SPDX-License-Identifier: MIT */
/*
 * server_player.h - a worker that a test plays: it records what ludwigd sends it
 *
 * A scene is a ludwigd with one client and one such worker.  Errors fail the test.
 */
#ifndef LUDWIG_TESTS_SERVER_PLAYER_H
#define LUDWIG_TESTS_SERVER_PLAYER_H

#include "tests/unit/server_fixture.h"

#include "server/queue/attempts.h"
#include "server/queue/lease.h"

enum { PLAYER_MAX = 1500 };

/* A played worker, and what it has received. */
struct player {
    struct peer *peer;
    uid_t uid; /* the user whose process it seems to be; 0: the test's own user */
    struct msg_register reg;
    struct assignment hand[PLAYER_MAX]; /* all attempts that it was handed */
    size_t n_hand;
    size_t n_hands;                  /* MSG_HAND messages */
    struct live_policy live;         /* of the first sweep in the last MSG_HAND */
    struct msg_stop_early early[64]; /* all orders to stop a job early, repeated ones too */
    size_t n_early;
    struct token stopped[PLAYER_MAX];
    size_t n_stopped;
    struct token recalled[PLAYER_MAX];
    size_t n_recalled;
    size_t n_recalled_first; /* how many of them before the reply to its registration */
    struct msg_follow_log follows[64];
    size_t n_follows;
    struct msg_expect expected; /* the newest of n_expected */
    size_t n_expected;
    int64_t seq; /* of its last report */
};

/* Records a recalled attempt once: the server may recall it both with the registration and in the
 * next turn. */
static inline void keep_recalled(struct player *w, const struct token *token)
{
    for (size_t i = 0; i < w->n_recalled; i++)
        if (token_equal(&w->recalled[i], token))
            return;
    assert_true(w->n_recalled < PLAYER_MAX);
    w->recalled[w->n_recalled++] = *token;
}

/* Records a message; types that no test looks at are ignored. */
static inline void keep(struct player *w, const struct envelope *m)
{
    if (m->type == MSG_HAND) {
        struct msg_hand hand;
        const struct assignment *items;

        read_body(w->peer, m, &hand);
        items = hand.assignments.items;
        w->n_hands++;
        w->live = ((const struct sweep_work *)hand.sweeps.items)->live;
        for (size_t i = 0; i < hand.assignments.n; i++) {
            assert_true(w->n_hand < PLAYER_MAX);
            w->hand[w->n_hand++] = items[i];
        }
    } else if (m->type == MSG_STOP_ATTEMPTS) {
        struct msg_stop_attempts order;
        const struct token_entry *items;

        read_body(w->peer, m, &order);
        items = order.tokens.items;
        for (size_t i = 0; i < order.tokens.n; i++) {
            assert_true(w->n_stopped < PLAYER_MAX);
            w->stopped[w->n_stopped++] = items[i].token;
        }
    } else if (m->type == MSG_STOP_EARLY) {
        assert_true(w->n_early < sizeof w->early / sizeof w->early[0]);
        read_body(w->peer, m, &w->early[w->n_early++]);
    } else if (m->type == MSG_RECALL) {
        struct msg_recall order;
        const struct token_entry *items;

        read_body(w->peer, m, &order);
        items = order.tokens.items;
        for (size_t i = 0; i < order.tokens.n; i++)
            keep_recalled(w, &items[i].token);
    } else if (m->type == MSG_FOLLOW_LOG) {
        assert_true(w->n_follows < sizeof w->follows / sizeof w->follows[0]);
        read_body(w->peer, m, &w->follows[w->n_follows++]);
    } else if (m->type == MSG_EXPECT) {
        read_body(w->peer, m, &w->expected);
        w->n_expected++;
    }
}

/* Lets the server settle and records all messages that have come. */
static inline void listen_to(struct player *w)
{
    struct envelope m;

    fixture_settle(w->peer->f);
    while (peer_look(w->peer, &m) == 1) {
        m.body = value_copy(w->peer->f->arena, &m.body);
        keep(w, &m);
        fixture_turn(w->peer->f);
    }
}

/* Connects and registers the worker; again with the same identity, as one that starts anew, if it
 * was registered before.  node and cpus count the first time only. */
static inline struct msg_registered join(struct fixture *f, struct player *w, const char *node,
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
    if (w->uid != 0)
        w->peer->conn->uid = w->uid;
    re = peer_send(w->peer, MSG_REGISTER, &w->reg);
    for (;;) {
        assert_true(peer_receive_any(w->peer, &m) >= 0);
        if (m.re == re)
            break;
        keep(w, &m);
    }
    assert_int_equal(m.type, MSG_REGISTERED);
    w->n_recalled_first = w->n_recalled;
    read_body(w->peer, &m, &answer);
    listen_to(w);
    return answer;
}

/* Sends a report and returns its verdict.  said_at: the time in ms by the worker's clock; 0: the
 * message does not tell it. */
static inline enum verdict report_at(struct player *w, struct report r, int64_t said_at)
{
    struct msg_report body = { .reports = { &r, 1 }, .said_at = said_at };
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

static inline enum verdict report(struct player *w, struct report r)
{
    return report_at(w, r, 0);
}

/* Reports an event of the attempt, with times of a job that ran from 4000 to 5000 ms. */
static inline enum verdict tell(struct player *w, const struct assignment *a,
                                enum attempt_event event)
{
    return report(w, (struct report){ .token = a->token,
                                      .event = (int)event,
                                      .at = 5000,
                                      .started_at = 4000,
                                      .ended_at = 5000 });
}

/* Asks the server about job number no of the sweep. */
static inline struct job_info job_of(struct peer *client, int64_t sweep, int64_t no)
{
    struct msg_get_jobs ask = { .sweep = sweep, .after = no - 1, .last = no, .limit = 1 };
    struct msg_job_page page;

    peer_ask(client, MSG_GET_JOBS, &ask, &page);
    assert_int_equal(page.jobs.n, 1);
    return *(const struct job_info *)page.jobs.items;
}

static inline struct sweep_info sweep_of(struct peer *client, int64_t sweep)
{
    struct msg_get_sweeps ask = { .sweep = sweep, .limit = 1 };
    struct msg_sweep_page page;

    peer_ask(client, MSG_GET_SWEEPS, &ask, &page);
    assert_int_equal(page.sweeps.n, 1);
    return *(const struct sweep_info *)page.sweeps.items;
}

static inline void cancel(struct peer *client, int64_t sweep, int64_t no)
{
    struct target target = { sweep, no, no };
    struct msg_cancel body = { .targets = { &target, 1 } };

    peer_ask(client, MSG_CANCEL, &body, NULL);
}

static inline void retry(struct peer *client, int64_t sweep, int64_t no)
{
    struct target target = { sweep, no, no };
    struct msg_retry body = { .targets = { &target, 1 } };

    peer_ask(client, MSG_RETRY, &body, NULL);
}

struct scene {
    struct fixture *f;
    struct peer *client;
    int64_t sweep;
    struct player w;
};

static inline struct scene *scene_open(void)
{
    struct scene *s = mem_alloc(sizeof *s);

    s->f = fixture_open();
    s->client = client_connect(s->f);
    return s;
}

/* The setup of a test: a scene whose worker n1, with 4 CPUs, was handed the only job. */
static inline int set_up(void **state)
{
    struct scene *s = scene_open();

    s->sweep = submit_all(s->client, submit_of("p", 1), 1, 1).sweep;
    join(s->f, &s->w, "n1", 4);
    *state = s;
    return 0;
}

static inline int tear_down(void **state)
{
    struct scene *s = *state;

    if (s->w.peer != NULL)
        peer_close(s->w.peer);
    peer_close(s->client);
    fixture_close(s->f);
    free(s);
    return 0;
}

/* Closes the worker's connection. */
static inline void leave(struct scene *s)
{
    peer_close(s->w.peer);
    s->w.peer = NULL;
    fixture_settle(s->f);
}

/* Ends the lease of each worker that has live attempts and is not connected. */
static inline void let_leases_end(struct scene *s)
{
    s->f->sv.conf.lease_ms = 0;
    leases_load(&s->f->sv, NULL);
    s->f->sv.conf.lease_ms = 600000;
    for (int i = 0; i < 5; i++)
        fixture_settle(s->f);
}

#endif

/* SPDX-License-Identifier: MIT */
/* log.c - who follows a log is told when it has grown, and workers tell only then */
#include "tests/unit/server_player.h"

/* A client that follows the log of job 1. */
struct reader {
    struct peer *peer;
    int64_t log_bytes;
    size_t n_pushed;
};

static void take_page(struct reader *r, const struct envelope *m)
{
    struct msg_changes page;

    assert_int_equal(m->type, MSG_CHANGES);
    read_body(r->peer, m, &page);
    r->log_bytes = page.log_bytes;
}

static struct reader follow_log(struct scene *s)
{
    struct msg_subscribe request = { .sweep = s->sweep, .job = 1, .jobs = true, .log = true };
    struct reader r = { .peer = client_connect(s->f) };
    struct envelope m;

    peer_send(r.peer, MSG_SUBSCRIBE, &request);
    assert_int_equal(peer_receive_any(r.peer, &m), MSG_CHANGES);
    take_page(&r, &m);
    listen_to(&s->w);
    return r;
}

/* Takes in all that has come. */
static void look(struct reader *r)
{
    struct envelope m;

    fixture_settle(r->peer->f);
    while (peer_look(r->peer, &m) == 1) {
        m.body = value_copy(r->peer->f->arena, &m.body);
        take_page(r, &m);
        r->n_pushed++;
    }
}

static void grow(struct player *w, const struct token *token, int64_t size_bytes)
{
    struct msg_log_grew body = { *token, size_bytes };

    peer_send(w->peer, MSG_LOG_GREW, &body);
    fixture_settle(w->peer->f);
}

static void expect_order(struct player *w, size_t n, const struct token *token, bool on)
{
    listen_to(w);
    assert_int_equal(w->n_follows, n);
    assert_true(token_equal(&w->follows[n - 1].token, token));
    assert_int_equal(w->follows[n - 1].on, on);
}

static void what_is_on_the_share_is_told(void **state)
{
    struct scene *s = *state;
    const struct token *token = &s->w.hand[0].token;
    struct reader r = follow_log(s);

    assert_int_equal(r.log_bytes, 0);
    expect_order(&s->w, 1, token, true);
    grow(&s->w, token, 100);
    look(&r);
    assert_int_equal(r.log_bytes, 100);
    grow(&s->w, token, 100); /* no news */
    grow(&s->w, token, 70);
    look(&r);
    assert_int_equal(r.n_pushed, 1);
    peer_close(r.peer);
    expect_order(&s->w, 2, token, false);
}

static void who_did_not_ask_is_not_told(void **state)
{
    struct scene *s = *state;
    struct msg_subscribe request = { .sweep = s->sweep, .job = 1, .jobs = true };
    struct reader r = { .peer = client_connect(s->f) };

    peer_send(r.peer, MSG_SUBSCRIBE, &request);
    look(&r);
    r.n_pushed = 0;
    listen_to(&s->w);
    assert_int_equal(s->w.n_follows, 0);
    grow(&s->w, &s->w.hand[0].token, 100);
    look(&r);
    assert_int_equal(r.n_pushed, 0);
    request = (struct msg_subscribe){ .sweep = s->sweep, .log = true };
    peer_refused(r.peer, MSG_SUBSCRIBE, &request, ERR_USAGE);
    peer_close(r.peer);
}

static void the_worker_stops_with_the_last_one(void **state)
{
    struct scene *s = *state;
    const struct token *token = &s->w.hand[0].token;
    struct reader first = follow_log(s), second;

    grow(&s->w, token, 100);
    second = follow_log(s);
    look(&second);
    assert_int_equal(second.log_bytes, 100); /* which the worker will not say again */
    assert_int_equal(s->w.n_follows, 1);
    peer_close(first.peer);
    listen_to(&s->w);
    assert_int_equal(s->w.n_follows, 1);
    grow(&s->w, token, 200);
    look(&second);
    assert_int_equal(second.log_bytes, 200);
    peer_close(second.peer);
    expect_order(&s->w, 2, token, false);
}

static void a_slow_reader_is_told_the_newest_length(void **state)
{
    struct scene *s = *state;
    struct reader r = follow_log(s);

    /* All in one turn of the loop. */
    for (int i = 1; i <= 50; i++) {
        struct msg_log_grew body = { s->w.hand[0].token, i };

        assert_true(wire_send(&s->w.peer->wire, MSG_LOG_GREW, 0, NULL, &body, NULL) > 0);
    }
    look(&r);
    assert_int_equal(r.log_bytes, 50);
    assert_true(r.n_pushed < 50);
    peer_close(r.peer);
}

static void another_attempts_log_begins_anew(void **state)
{
    struct scene *s = *state;
    struct token first = s->w.hand[0].token;
    struct reader r = follow_log(s);

    grow(&s->w, &first, 100);
    look(&r);
    tell(&s->w, s->w.hand, EV_FAIL);
    retry(s->client, s->sweep, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 2);
    assert_false(s->w.follows[1].on);
    expect_order(&s->w, 3, &s->w.hand[1].token, true);
    look(&r);
    assert_int_equal(r.log_bytes, 0);
    grow(&s->w, &first, 300); /* which nobody looks at any more */
    grow(&s->w, &s->w.hand[1].token, 5);
    look(&r);
    assert_int_equal(r.log_bytes, 5);
    peer_close(r.peer);
}

static void a_worker_that_is_back_is_asked_again(void **state)
{
    struct scene *s = *state;
    struct token token = s->w.hand[0].token;
    struct held held = { token, ATTEMPT_RUNNING, 4000 };
    struct reader r = follow_log(s);

    tell(&s->w, s->w.hand, EV_RUN);
    grow(&s->w, &token, 100);
    leave(s);
    s->w.reg.attempts = (struct list){ &held, 1 };
    join(s->f, &s->w, "n1", 4);
    expect_order(&s->w, 2, &token, true);
    grow(&s->w, &token, 150);
    look(&r);
    assert_int_equal(r.log_bytes, 150);
    peer_close(r.peer);
}

static void a_job_that_waits_is_followed_once_it_runs(void **state)
{
    struct scene *s = scene_open();
    struct msg_subscribe request = { .job = 1, .log = true };
    struct reader r = { .peer = client_connect(s->f) };

    s->sweep = request.sweep = submit_all(s->client, submit_of("p", 1), 1, 1).sweep;
    peer_send(r.peer, MSG_SUBSCRIBE, &request);
    look(&r);
    join(s->f, &s->w, "n1", 4);
    tell(&s->w, s->w.hand, EV_RUN);
    expect_order(&s->w, 1, &s->w.hand[0].token, true);
    peer_close(r.peer);
    *state = s;
    tear_down(state);
}

static void another_workers_word_does_not_count(void **state)
{
    struct scene *s = *state;
    struct player other = { 0 };
    struct reader r = follow_log(s);

    join(s->f, &other, "n2", 4);
    grow(&other, &s->w.hand[0].token, 1000);
    look(&r);
    assert_int_equal(r.log_bytes, 0);
    peer_close(other.peer);
    peer_close(r.peer);
}

static void a_client_cannot_say_it(void **state)
{
    struct scene *s = *state;
    struct msg_log_grew body = { s->w.hand[0].token, 5 };

    peer_refused(s->client, MSG_LOG_GREW, &body, ERR_PROTOCOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(what_is_on_the_share_is_told),
        TEST(who_did_not_ask_is_not_told),
        TEST(the_worker_stops_with_the_last_one),
        TEST(a_slow_reader_is_told_the_newest_length),
        TEST(another_attempts_log_begins_anew),
        TEST(a_worker_that_is_back_is_asked_again),
        cmocka_unit_test(a_job_that_waits_is_followed_once_it_runs),
        TEST(another_workers_word_does_not_count),
        TEST(a_client_cannot_say_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

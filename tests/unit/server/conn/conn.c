/* SPDX-License-Identifier: MIT */
/* conn.c - whose turn it is, and what one user's connections may take together */
#include "tests/unit/server_fixture.h"

#include <time.h>

#include "server/conn/conn_user.h"
#include "server/loop/turn_run.h"

enum { GREEDY = 4000001, MODEST = 4000002, SERVICE = 4000003 };

static const char *const service_users[] = { "user4000003" };

static int64_t turns(const struct fixture *f)
{
    return turn_stats(f->sv.turn).turns;
}

/* ---- turns: counted, not timed ---- */

/* Whoever sends much on very many connections. */
struct crowd {
    struct peer *items[CONN_PER_UID_MAX];
    size_t n;
};

static struct crowd crowd_of(struct fixture *f, uid_t uid, size_t n)
{
    struct crowd all = { .n = n };

    for (size_t i = 0; i < n; i++)
        all.items[i] = stranger_connect(f, uid);
    return all;
}

static void crowd_close(struct crowd *all)
{
    struct fixture *f = all->items[0]->f;

    for (size_t i = 0; i < all->n; i++) {
        wire_close(&all->items[i]->wire);
        free(all->items[i]);
    }
    fixture_settle(f);
}

static void crowd_ask(struct crowd *all, int type, const void *body)
{
    for (size_t i = 0; i < all->n; i++)
        peer_send(all->items[i], type, body);
}

/* How many of the crowd's connections were served later than c. */
static size_t n_served_after(const struct crowd *all, const struct conn *c)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += all->items[i]->conn->served > c->served;
    return n;
}

static void a_user_with_very_many_connections_has_one_turn_of_two(void **state)
{
    enum { MANY = 240 };
    struct fixture *f = fixture_open();
    struct crowd greedy = crowd_of(f, GREEDY, MANY);
    struct peer *modest = stranger_connect(f, MODEST);
    struct msg_get_nodes nodes = { 0 };

    (void)state;
    /* All that is asked lies there before the first of it is taken. */
    crowd_ask(&greedy, MSG_GET_NODES, &nodes);
    peer_send(modest, MSG_GET_NODES, &nodes);
    peer_expect(modest, MSG_NODE_PAGE, NULL);
    /* How many of them a turn serves depends on the machine. */
    for (time_t until = time(NULL) + 60;
         n_served_after(&greedy, modest->conn) < MANY - 1 && time(NULL) < until;)
        fixture_settle(f);
    assert_true(n_served_after(&greedy, modest->conn) >= MANY - 1);
    /* However often: as if the others were one. */
    for (int i = 0; i < 5; i++) {
        int64_t before = turns(f);

        for (int k = 0; k < 20; k++)
            crowd_ask(&greedy, MSG_GET_NODES, &nodes);
        peer_send(modest, MSG_GET_NODES, &nodes);
        peer_expect(modest, MSG_NODE_PAGE, NULL);
        assert_true(turns(f) - before <= 2);
    }
    peer_close(modest);
    crowd_close(&greedy);
    fixture_close(f);
}

static void connections_of_one_user_are_served_in_turn(void **state)
{
    enum { MANY = 5, EACH = 4 };
    struct fixture *f = fixture_open();
    struct crowd all = crowd_of(f, GREEDY, MANY);
    struct msg_get_nodes nodes = { 0 };
    int64_t first, last;

    (void)state;
    for (int k = 0; k < EACH; k++)
        peer_send(all.items[0], MSG_GET_NODES, &nodes);
    for (size_t i = 1; i < MANY; i++)
        peer_send(all.items[i], MSG_GET_NODES, &nodes);
    first = all.items[0]->conn->shared->served;
    fixture_settle(f);
    last = all.items[0]->conn->served;
    assert_int_equal(last, first + MANY - 1 + EACH);
    for (size_t i = 1; i < MANY; i++)
        assert_true(all.items[i]->conn->served < last - 1);
    crowd_close(&all);
    fixture_close(f);
}

/* Each of a lab's nodes serves everybody: they do not share one turn. */
static void workers_that_serve_all_users_have_turns_of_their_own(void **state)
{
    enum { MANY = 8 };
    struct fixture *f = fixture_open();
    struct peer *workers[MANY], *modest;
    struct msg_alive alive = { true };
    struct msg_get_nodes nodes = { 0 };
    int64_t last;

    (void)state;
    f->sv.conf.worker_users = (struct list){ (void *)(uintptr_t)service_users, 1 };
    for (int i = 0; i < MANY; i++)
        workers[i] = worker_connect_as(f, SERVICE, false);
    modest = stranger_connect(f, MODEST);
    for (int k = 0; k < 3; k++)
        peer_send(modest, MSG_GET_NODES, &nodes);
    for (int i = 0; i < MANY; i++)
        peer_send(workers[i], MSG_ALIVE, &alive);
    fixture_settle(f);
    last = modest->conn->served;
    for (int i = 0; i < MANY; i++)
        assert_true(workers[i]->conn->served < last - 1);
    for (int i = 0; i < MANY; i++)
        peer_close(workers[i]);
    peer_close(modest);
    fixture_close(f);
}

/* ---- memory ---- */

/* Sends bytes as far as the server reads them. */
static void push(struct peer *p, size_t n)
{
    static const char zeroes[16 * 1024];
    int misses = 0;

    while (n > 0 && misses < 50) {
        size_t most = n < sizeof zeroes ? n : sizeof zeroes;
        ssize_t sent = send(p->wire.fd, zeroes, most, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent > 0)
            n -= (size_t)sent;
        else
            misses++;
        fixture_turn(p->f);
    }
}

/* Begins a frame of that size, and sends so much of it. */
static void push_frame(struct peer *p, size_t size, size_t n)
{
    const uint8_t head[] = { (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8),
                             (uint8_t)size };

    assert_int_equal(send(p->wire.fd, head, sizeof head, 0), sizeof head);
    push(p, n);
}

static void unfinished_messages_of_one_user_are_bounded(void **state)
{
    enum { MANY = 8, FRAME = 3 << 20, MIB = 1 << 20 };
    struct fixture *f = fixture_open();
    struct crowd greedy;
    struct peer *modest;
    struct msg_get_nodes nodes = { 0 };
    struct msg_error error;
    struct envelope m;
    size_t n_refused = 0;

    (void)state;
    f->sv.conf.buffered_bytes = 4 * MIB;
    greedy = crowd_of(f, GREEDY, MANY);
    modest = stranger_connect(f, MODEST);
    for (size_t i = 0; i < MANY; i++)
        push_frame(greedy.items[i], FRAME, MIB);
    assert_true(greedy.items[0]->conn->shared->waiting_bytes <= 4 * MIB + 64 * 1024);
    for (size_t i = 0; i < MANY; i++) {
        if (peer_look(greedy.items[i], &m) == 2)
            continue;
        n_refused++;
        assert_int_equal(m.type, MSG_ERROR);
        read_body(greedy.items[i], &m, &error);
        assert_int_equal(error.kind, ERR_BUSY);
        assert_non_null(strstr(error.text, "one user may have 4 MiB (limits: buffered"));
    }
    assert_in_range(n_refused, MANY / 2 - 1, MANY / 2 + 1);
    /* Others may send a message as large as ever. */
    push_frame(modest, FRAME, FRAME - 100);
    assert_int_equal(peer_look(modest, &m), 2);
    crowd_close(&greedy);
    /* And so may this one, later. */
    greedy = crowd_of(f, GREEDY, 1);
    assert_int_equal(greedy.items[0]->conn->shared->waiting_bytes, 0);
    peer_ask(greedy.items[0], MSG_GET_NODES, &nodes, NULL);
    crowd_close(&greedy);
    peer_close(modest);
    fixture_close(f);
}

static void answers_that_one_user_does_not_read_are_bounded(void **state)
{
    enum { MANY = 20, MIB = 1 << 20 };
    struct fixture *f = fixture_open();
    struct peer *owner = client_connect(f);
    struct msg_get_jobs get = { .limit = PAGE_MAX };
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS, numbers[MANY];
    const struct conn_user *shared;
    struct crowd greedy;
    size_t n_left;

    (void)state;
    get.sweep = submit_all(owner, submit_of("demo", 1), 1, 1000).sweep;
    f->sv.conf.buffered_bytes = 2 * MIB;
    greedy = crowd_of(f, geteuid(), MANY);
    shared = greedy.items[0]->conn->shared;
    for (size_t i = 0; i < MANY; i++) {
        greedy.items[i]->conn->is_preferred = false;
        numbers[i] = greedy.items[i]->conn->number;
    }
    for (int k = 0; k < 20; k++)
        crowd_ask(&greedy, MSG_GET_JOBS, &get);
    for (n_left = MANY; n_left == MANY && units_monotonic_ms() < until_ms;) {
        fixture_turn(f);
        assert_true(shared->waiting_bytes <= 2 * MIB);
        n_left = 0;
        for (size_t i = 0; i < MANY; i++)
            n_left += conn_find(&f->sv, numbers[i]) != NULL;
    }
    assert_in_range(n_left, 1, MANY - 1);
    /* Who reads is answered. */
    peer_ask(owner, MSG_GET_JOBS, &get, NULL);
    crowd_close(&greedy);
    peer_close(owner);
    fixture_close(f);
}

static void only_workers_that_are_trusted_may_fill_a_frame(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *own, *service, *client;
    struct msg_error error;
    struct envelope m;

    (void)state;
    f->sv.conf.worker_users = (struct list){ (void *)(uintptr_t)service_users, 1 };
    client = client_connect(f);
    own = worker_connect_as(f, GREEDY, true);
    service = worker_connect_as(f, SERVICE, false);
    push_frame(service, FRAME_MAX_BYTES, 1000);
    assert_int_equal(peer_look(service, &m), 2);
    push_frame(own, SMALL_FRAME_MAX_BYTES + 1, 0);
    peer_expect(own, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_PROTOCOL);
    push_frame(client, SMALL_FRAME_MAX_BYTES + 1, 0);
    peer_expect(client, MSG_ERROR, &error);
    peer_close(client);
    peer_close(own);
    peer_close(service);
    fixture_close(f);
}

/* ---- changes a second ---- */

static size_t count_answers(struct peer *p)
{
    struct envelope m;
    size_t n = 0;

    while (peer_look(p, &m) == 1)
        n++;
    return n;
}

static void changes_of_one_user_wait_for_their_time(void **state)
{
    enum { ASKED = 6, AHEAD = 3 };
    struct fixture *f = fixture_open();
    struct peer *greedy, *modest, *admin;
    struct target target = { .sweep = 1 };
    struct msg_cancel cancel = { .targets = { &target, 1 } };
    struct msg_get_nodes nodes = { 0 };
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;
    size_t n = 0;

    (void)state;
    f->sv.conf.changes_per_second = 1;
    greedy = stranger_connect(f, GREEDY);
    modest = stranger_connect(f, MODEST);
    admin = client_connect(f);
    assert_true(greedy->conn->shared->changes >= CHANGES_AHEAD_S);
    greedy->conn->shared->changes = AHEAD;
    greedy->conn->shared->changes_ms = uv_now(&f->sv.loop);
    for (int i = 0; i < ASKED; i++) {
        peer_send(greedy, MSG_CANCEL, &cancel);
        peer_send(admin, MSG_CANCEL, &cancel);
    }
    fixture_settle(f);
    n += count_answers(greedy);
    assert_in_range(n, AHEAD, ASKED - 1);
    /* Others are served, and may change what they like. */
    peer_refused(modest, MSG_CANCEL, &cancel, ERR_NOT_FOUND);
    assert_int_equal(count_answers(admin), ASKED);
    f->sv.conf.changes_per_second = 1000;
    while (n < ASKED && units_monotonic_ms() < until_ms) {
        uv_run(&f->sv.loop, UV_RUN_ONCE); /* nothing else wakes it than its time */
        n += count_answers(greedy);
    }
    assert_int_equal(n, ASKED);
    peer_ask(greedy, MSG_GET_NODES, &nodes, NULL);
    peer_close(greedy);
    peer_close(modest);
    peer_close(admin);
    fixture_close(f);
}

static void who_goes_and_comes_back_has_made_the_changes_before(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p;

    (void)state;
    f->sv.conf.changes_per_second = 1;
    p = stranger_connect(f, GREEDY);
    for (int i = 0; i < 10; i++)
        conn_changes(p->conn);
    peer_close(p);
    peer_close(stranger_connect(f, MODEST));
    p = stranger_connect(f, GREEDY);
    assert_true(p->conn->shared->changes < CHANGES_AHEAD_S);
    peer_close(p);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_with_very_many_connections_has_one_turn_of_two),
        cmocka_unit_test(connections_of_one_user_are_served_in_turn),
        cmocka_unit_test(workers_that_serve_all_users_have_turns_of_their_own),
        cmocka_unit_test(unfinished_messages_of_one_user_are_bounded),
        cmocka_unit_test(answers_that_one_user_does_not_read_are_bounded),
        cmocka_unit_test(only_workers_that_are_trusted_may_fill_a_frame),
        cmocka_unit_test(changes_of_one_user_wait_for_their_time),
        cmocka_unit_test(who_goes_and_comes_back_has_made_the_changes_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

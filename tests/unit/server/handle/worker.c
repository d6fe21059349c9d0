/* SPDX-License-Identifier: MIT */
/* worker.c - who is a worker, and whose jobs it is given */
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/server_player.h"

#include "server/loop/turn_run.h"

enum { SERVICE = 4000000 }; /* without a name, so that it is called by its number */

static const char *const worker_users[] = { "user4000000" };

static struct fixture *fixture_with_service(void)
{
    struct fixture *f = fixture_open();

    f->sv.conf.worker_users = (struct list){ (void *)(uintptr_t)worker_users, 1 };
    return f;
}

/* Whether a hand comes before all is quiet. */
static bool is_given_work(struct peer *p)
{
    struct envelope m;

    fixture_settle(p->f);
    return peer_look(p, &m) == 1 && m.type == MSG_HAND;
}

static void a_trusted_account_is_given_everybodys_jobs(void **state)
{
    struct fixture *f = fixture_with_service();
    struct peer *client = client_connect(f), *worker = worker_connect_as(f, SERVICE, false);

    (void)state;
    submit_all(client, submit_of("demo", 1), 1, 1);
    assert_true(is_given_work(worker));
    peer_close(client);
    peer_close(worker);
    fixture_close(f);
}

static void who_can_publish_its_own_alone_is_given_its_own_alone(void **state)
{
    struct fixture *f = fixture_with_service();
    struct peer *client = client_connect(f), *worker = worker_connect_as(f, SERVICE, true);
    struct msg_ask_why request = { .job = 1 };
    struct peer *own;
    struct msg_why why;

    (void)state;
    request.sweep = submit_all(client, submit_of("demo", 1), 1, 1).sweep;
    assert_false(is_given_work(worker));
    peer_ask(client, MSG_ASK_WHY, &request, &why);
    assert_non_null(strstr(((const char *const *)why.lines.items)[0],
                           "n1: its worker runs jobs of user4000000 only"));
    own = worker_connect_as(f, geteuid(), true);
    assert_true(is_given_work(own));
    peer_close(own);
    peer_close(client);
    peer_close(worker);
    fixture_close(f);
}

/* 0: the machine does not say how much it has. */
static void a_worker_of_unknown_memory_is_given_jobs_that_name_theirs(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *client = client_connect(f), *worker = peer_connect(f);
    struct msg_register reg = {
        .boot_id = "boot", .node = "n1", .kind = "node", .cpus_milli = 1000
    };
    struct submit sweep = submit_of("demo", 1);

    (void)state;
    token_make(&reg.worker);
    token_make(&reg.incarnation);
    peer_hello(worker, "ludwig-worker");
    peer_ask(worker, MSG_REGISTER, &reg, NULL);
    sweep.begin.work.resources.memory_bytes = 1 << 30;
    submit_all(client, sweep, 1, 1);
    assert_true(is_given_work(worker));
    peer_close(client);
    peer_close(worker);
    fixture_close(f);
}

/* As one does that finds out more about its machine while it registers. */
static void a_worker_that_registers_twice_within_a_turn_is_one(void **state)
{
    struct fixture *f = fixture_open();
    struct msg_register reg = { .boot_id = "boot", .node = "n1", .kind = "node" };
    struct msg_alive alive = { 0 };
    struct peer *p = peer_connect(f);

    (void)state;
    token_make(&reg.worker);
    token_make(&reg.incarnation);
    reg.cpus_milli = 1000;
    peer_hello(p, "ludwig-worker");
    peer_send(p, MSG_REGISTER, &reg);
    peer_send(p, MSG_REGISTER, &reg);
    peer_expect(p, MSG_REGISTERED, NULL);
    peer_expect(p, MSG_REGISTERED, NULL);
    peer_ask(p, MSG_ALIVE, &alive, NULL);
    peer_close(p);
    fixture_close(f);
}

/* As on a full disk: no file may grow any more. */
static void set_disk_full(bool is_full)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = is_full ? 512 : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_registration_that_is_not_committed_changes_nothing(void **state)
{
    struct fixture *f = fixture_open();
    struct player w = { 0 };
    struct msg_register again;

    (void)state;
    join(f, &w, "n1", 4);
    again = w.reg;
    again.own_jobs_only = true;
    again.boot_id = "another";
    set_disk_full(true);
    peer_refused(w.peer, MSG_REGISTER, &again, ERR_NO_SPACE);
    set_disk_full(false);
    assert_false(w.peer->conn->own_jobs_only);
    assert_string_equal(w.peer->conn->boot_id, "boot");
    assert_int_equal(w.peer->conn->registering, 0);
    peer_close(w.peer);
    fixture_close(f);
}

/* ---- a registration with very many attempts ---- */

static int64_t turns(const struct fixture *f)
{
    return turn_stats(f->sv.turn).turns;
}

/* The server reads while it is sent: it is larger than what a socket holds. */
static void send_large(struct peer *p, int type, const void *body)
{
    struct buf frame = { 0 };

    assert_int_equal(message_add(&frame, &proto, type, ++p->wire.seq, 0, NULL, body, NULL), 0);
    for (size_t sent = 0; sent < frame.n; fixture_turn(p->f)) {
        ssize_t n = send(p->wire.fd, frame.bytes + sent, frame.n - sent, MSG_DONTWAIT);

        sent += n > 0 ? (size_t)n : 0;
    }
    buf_free(&frame);
}

static void a_worker_that_lists_very_many_attempts_holds_nobody_up(void **state)
{
    enum { MANY = 60000 };
    struct fixture *f = fixture_open();
    struct peer *w = peer_connect(f), *other = client_connect(f);
    struct held *held = mem_alloc(MANY * sizeof *held);
    struct msg_register reg = {
        .boot_id = "boot", .node = "n1", .kind = "node", .cpus_milli = 1000
    };
    struct msg_registered answer;
    struct msg_get_nodes nodes = { 0 };
    struct envelope m;
    int64_t before;
    int between = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        token_make(&held[i].token);
        held[i].state = ATTEMPT_RUNNING;
        held[i].started_at = 1;
    }
    reg.attempts = (struct list){ held, MANY };
    token_make(&reg.worker);
    token_make(&reg.incarnation);
    peer_hello(w, "ludwig-worker");
    before = turns(f);
    send_large(w, MSG_REGISTER, &reg);
    while (peer_look(w, &m) == 2) {
        peer_ask(other, MSG_GET_NODES, &nodes, NULL);
        between++;
        assert_true(w->conn->unfinished == NULL || w->conn->registering != 0);
    }
    assert_int_equal(m.type, MSG_REGISTERED);
    read_body(w, &m, &answer);
    assert_int_equal(answer.stop.n, MANY);
    assert_true(between > 1);
    assert_true(turns(f) - before > 2);
    assert_int_equal(w->conn->registering, 0);
    assert_int_not_equal(w->conn->worker, 0);
    free(held);
    peer_close(other);
    peer_close(w);
    fixture_close(f);
}

/* Its jobs never arrived: they are queued again, some in each turn, and given to it anew once it is
 * registered. */
static void very_many_attempts_that_a_worker_does_not_have_are_taken_back_in_steps(void **state)
{
    enum { MANY = 1400 };
    struct scene *s = scene_open();
    struct player *w = &s->w;
    struct peer *old;
    size_t n_first;
    int64_t before;

    (void)state;
    s->sweep = submit_all(s->client, submit_of("p", 2), 1, MANY / 2).sweep;
    join(s->f, w, "n1", MANY);
    n_first = w->n_hand;
    assert_int_equal(n_first, MANY);
    old = w->peer;
    w->n_hand = 0;
    before = turns(s->f);
    join(s->f, w, "n1", MANY);
    assert_true(turns(s->f) - before > 2);
    /* The other connection is dead, and was given nothing meanwhile. */
    assert_int_equal(w->n_hand, MANY);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.queued, MANY);
    wire_close(&old->wire);
    free(old);
    tear_down((void *[]){ s });
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registration_that_is_not_committed_changes_nothing),
        cmocka_unit_test(a_trusted_account_is_given_everybodys_jobs),
        cmocka_unit_test(who_can_publish_its_own_alone_is_given_its_own_alone),
        cmocka_unit_test(a_worker_of_unknown_memory_is_given_jobs_that_name_theirs),
        cmocka_unit_test(a_worker_that_registers_twice_within_a_turn_is_one),
        cmocka_unit_test(a_worker_that_lists_very_many_attempts_holds_nobody_up),
        cmocka_unit_test(very_many_attempts_that_a_worker_does_not_have_are_taken_back_in_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

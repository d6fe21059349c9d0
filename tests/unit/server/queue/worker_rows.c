/* SPDX-License-Identifier: MIT */
/* worker_rows.c - which workers are forgotten, and which are not */
#include "tests/unit/server_player.h"

#include "server/queue/worker_rows.h"

enum { STRANGER = 4000001 };

static struct msg_register registration(void)
{
    struct msg_register reg = {
        .boot_id = "boot", .node = "n1", .kind = "node", .cpus_milli = 1000
    };

    token_make(&reg.worker);
    token_make(&reg.incarnation);
    return reg;
}

static int64_t count_unused(struct fixture *f, uid_t uid)
{
    int64_t n = -1;

    assert_int_equal(db_get(f->sv.db, NULL, SQL_WORKERS_UNUSED_COUNT, "i>i", (int64_t)uid, &n), 1);
    return n;
}

static bool is_known(struct fixture *f, const struct token *worker)
{
    int64_t id;

    return db_get(f->sv.db, NULL, SQL_WORKER_BY_TOKEN, "t>i", worker, &id) == 1;
}

/* As if a worker had been seen two days ago. */
static int make_old(struct server *sv, int64_t worker, struct err *e)
{
    return db_run(sv->db, e, SQL_WORKER_SEEN, "ii", worker,
                  turn_now_ms(sv) - INT64_C(2) * WORKER_SHOWN_MS) < 0
               ? -1
               : 0;
}

static void forget(struct fixture *f, int64_t worker)
{
    turn_add_work(f->sv.turn, make_old, worker);
    fixture_settle(f);
    turn_add_work(f->sv.turn, worker_rows_forget, 0);
    fixture_settle(f);
}

static void a_worker_that_never_had_a_job_is_forgotten_when_it_is_away(void **state)
{
    struct scene *s = scene_open();
    int64_t worker;

    (void)state;
    join(s->f, &s->w, "n1", 4);
    worker = s->w.peer->conn->worker;
    forget(s->f, worker);
    assert_true(is_known(s->f, &s->w.reg.worker));
    leave(s);
    turn_add_work(s->f->sv.turn, worker_rows_forget, 0);
    fixture_settle(s->f);
    assert_true(is_known(s->f, &s->w.reg.worker));
    forget(s->f, worker);
    assert_false(is_known(s->f, &s->w.reg.worker));
    /* It may come back. */
    join(s->f, &s->w, "n1", 4);
    assert_true(is_known(s->f, &s->w.reg.worker));
    tear_down((void *[]){ s });
}

static void a_worker_that_had_a_job_is_kept(void **state)
{
    struct scene *s = *state;
    int64_t worker = s->w.peer->conn->worker;

    assert_int_equal(s->w.n_hand, 1);
    assert_int_equal(tell(&s->w, &s->w.hand[0], EV_DONE), VERDICT_TAKEN);
    leave(s);
    forget(s->f, worker);
    assert_true(is_known(s->f, &s->w.reg.worker));
    assert_string_equal(job_of(s->client, s->sweep, 1).node, "n1");
}

static void a_drained_worker_stays_drained(void **state)
{
    static const char *const nodes[] = { "n1" };
    struct scene *s = scene_open();
    struct msg_drain drain = { .nodes = { (void *)(uintptr_t)nodes, 1 } };
    int64_t worker;

    (void)state;
    join(s->f, &s->w, "n1", 4);
    worker = s->w.peer->conn->worker;
    peer_ask(s->client, MSG_DRAIN, &drain, NULL);
    leave(s);
    forget(s->f, worker);
    assert_true(is_known(s->f, &s->w.reg.worker));
    tear_down((void *[]){ s });
}

static void of_one_user_few_are_known_that_never_had_a_job(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = peer_connect_as(f, STRANGER), *admin = peer_connect(f);
    struct msg_register first = registration(), reg;

    (void)state;
    peer_hello(p, "ludwig-worker");
    peer_hello(admin, "ludwig-worker");
    peer_ask(p, MSG_REGISTER, &first, NULL);
    for (int i = 0; i < WORKERS_UNUSED_MAX + 10; i++) {
        reg = registration();
        peer_ask(p, MSG_REGISTER, &reg, NULL);
        assert_true(is_known(f, &reg.worker));
        assert_true(count_unused(f, STRANGER) <= WORKERS_UNUSED_MAX);
        reg = registration();
        peer_ask(admin, MSG_REGISTER, &reg, NULL);
    }
    assert_false(is_known(f, &first.worker));
    assert_true(count_unused(f, geteuid()) > WORKERS_UNUSED_MAX);
    peer_close(admin);
    peer_close(p);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_never_had_a_job_is_forgotten_when_it_is_away),
        cmocka_unit_test_setup_teardown(a_worker_that_had_a_job_is_kept, set_up, tear_down),
        cmocka_unit_test(a_drained_worker_stays_drained),
        cmocka_unit_test(of_one_user_few_are_known_that_never_had_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

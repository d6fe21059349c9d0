/* SPDX-License-Identifier: MIT */
/* passed_env.c - tests of variables that go from the submitting shell to workers, and of their end */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/unit/server_fixture.h"

static const char *names[] = { "KEY", "OTHER" };
static struct env_entry values[] = { { "KEY", "secret" }, { "OTHER", "" } };

static struct submit passing(size_t n)
{
    struct submit s = submit_of("demo", 1);

    s.begin.work.passed = (struct list){ names, 2 };
    s.begin.passed = (struct list){ values, n };
    return s;
}

/* What the next hand has of it, in the order of its list; the jobs are left to the worker. */
static struct msg_hand next_hand(struct peer *worker)
{
    struct msg_hand hand;
    struct envelope m;

    do
        assert_true(peer_receive_any(worker, &m) >= 0);
    while (m.type != MSG_HAND);
    read_body(worker, &m, &hand);
    return hand;
}

static void expect_values(const struct msg_hand *hand, const char *key)
{
    const struct sweep_work *work = hand->sweeps.items;
    const struct env_entry *env = work->work.env.items;

    assert_int_equal(work->work.env.n, 2);
    assert_string_equal(env[0].name, "KEY");
    assert_string_equal(env[0].value, key);
    assert_string_equal(env[1].name, "OTHER");
    assert_string_equal(env[1].value, "");
}

static int64_t count_kept(struct fixture *f, int64_t sweep)
{
    struct stmt *s = db_ask(f->sv.db, SQL_PASSED_GET, "i", sweep);
    int64_t n = 0;

    while (stmt_step(s, NULL) == 1)
        n++;
    return n;
}

static void end_jobs(struct peer *worker, const struct msg_hand *hand, struct report outcome)
{
    const struct assignment *items = hand->assignments.items;

    outcome.token = items[0].token;
    outcome.seq = 1;
    worker_report(worker, outcome);
}

static void a_hand_has_the_values_until_the_sweep_ends(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f), *worker;
    struct submit s = passing(2);
    struct msg_hand hand;
    int64_t sweep = submit_all(p, s, 1, 1).sweep;

    (void)state;
    assert_int_equal(count_kept(f, sweep), 2);
    worker = worker_connect(f);
    hand = next_hand(worker);
    expect_values(&hand, "secret");
    end_jobs(worker, &hand, report_failed(3));
    assert_int_equal(count_kept(f, sweep), 0);
    peer_close(worker);
    peer_close(p);
    fixture_close(f);
}

static void a_retry_after_the_end_needs_them_again(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f), *worker = worker_connect(f);
    struct target all = { .sweep = submit_all(p, passing(2), 1, 1).sweep };
    struct env_entry again[] = { { "OTHER", "" }, { "KEY", "new" } };
    struct msg_retry retry = { .targets = { &all, 1 } };
    struct msg_changed changed;
    struct msg_hand hand = next_hand(worker);

    (void)state;
    end_jobs(worker, &hand, report_failed(3));
    assert_non_null(strstr(peer_refused(p, MSG_RETRY, &retry, ERR_USAGE), "--env KEY"));
    retry.passed = (struct list){ again, 1 };
    assert_non_null(strstr(peer_refused(p, MSG_RETRY, &retry, ERR_USAGE), "--env KEY"));
    assert_int_equal(count_kept(f, all.sweep), 0); /* what is refused leaves nothing */
    retry.passed.n = 2;
    peer_ask(p, MSG_RETRY, &retry, &changed);
    assert_int_equal(changed.jobs, 1);
    hand = next_hand(worker);
    expect_values(&hand, "new");
    end_jobs(worker, &hand, report_done());
    assert_int_equal(count_kept(f, all.sweep), 0);
    /* Nothing of it runs again: they are not kept. */
    peer_ask(p, MSG_RETRY, &retry, &changed);
    assert_int_equal(changed.jobs, 0);
    assert_int_equal(count_kept(f, all.sweep), 0);
    peer_close(worker);
    peer_close(p);
    fixture_close(f);
}

static void names_without_values_and_ludwigs_own_are_refused(void **state)
{
    static const char *own[] = { "LUDWIG_JOB" };
    static struct env_entry own_value[] = { { "LUDWIG_JOB", "1" } };
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = passing(1);

    (void)state;
    assert_non_null(strstr(peer_refused(p, MSG_SUBMIT_BEGIN, &s.begin, ERR_PROTOCOL), "OTHER"));
    s.begin.work.passed = (struct list){ own, 1 };
    s.begin.passed = (struct list){ own_value, 1 };
    assert_non_null(strstr(peer_refused(p, MSG_SUBMIT_BEGIN, &s.begin, ERR_USAGE), "LUDWIG_"));
    peer_close(p);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_has_the_values_until_the_sweep_ends),
        cmocka_unit_test(a_retry_after_the_end_needs_them_again),
        cmocka_unit_test(names_without_values_and_ludwigs_own_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* subscribe.c - a cursor misses nothing, however slow its owner reads */
#include "tests/unit/server_fixture.h"

#include "server/queue/subscribe.h"

static struct msg_changes next_changes(struct peer *p)
{
    struct msg_changes page;
    struct envelope m;

    assert_int_equal(peer_receive_any(p, &m), MSG_CHANGES);
    assert_int_equal(m.re, p->asked); /* pushes name the subscription */
    read_body(p, &m, &page);
    return page;
}

static struct msg_changes subscribe(struct peer *p, struct msg_subscribe request)
{
    peer_send(p, MSG_SUBSCRIBE, &request);
    return next_changes(p);
}

static void cancel(struct peer *p, int64_t sweep, int64_t first, int64_t last)
{
    struct target target = { sweep, first, last };
    struct msg_cancel request = { .targets = { &target, 1 } };

    peer_ask(p, MSG_CANCEL, &request, NULL);
}

/* Which jobs a page tells of, as a set of numbers. */
static void mark_seen(const struct msg_changes *page, int *seen, size_t n)
{
    const struct job_info *jobs = page->jobs.items;

    for (size_t i = 0; i < page->jobs.n; i++) {
        size_t no = (size_t)atoi(strchr(jobs[i].job, '.') + 1);

        assert_true(no >= 1 && no <= n);
        seen[no - 1]++;
    }
}

static void the_first_answer_comes_at_once(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 3);
    struct msg_changes page =
        subscribe(p, (struct msg_subscribe){ .sweep = done.sweep, .jobs = true });

    (void)state;
    assert_int_equal(page.sweep.jobs.queued, 3);
    assert_int_equal(page.jobs.n, 3);
    assert_false(page.more);
    peer_close(p);
    fixture_close(f);
}

/* A job whose configuration is not there, as in a database that is damaged. */
static int damage(struct server *sv, int64_t sweep, struct err *e)
{
    struct digest work = { 0 };

    subscribe_touch(sv, sweep);
    return db_run(sv->db, e, SQL_JOB_ADD, "iiiisdiiIIi", sweep, INT64_C(1000), INT64_C(1000),
                  INT64_C(0), "x", &work, INT64_C(0), turn_next_version(sv), INT64_C(1000),
                  SCHEMA_NONE, INT64_C(0)) < 0
               ? -1
               : 0;
}

static void a_subscriber_that_would_miss_a_page_is_cut_off(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 3);
    struct envelope m;

    (void)state;
    subscribe(p, (struct msg_subscribe){ .sweep = done.sweep, .jobs = true });
    turn_add_work(f->sv.turn, damage, done.sweep);
    assert_int_equal(peer_receive_any(p, &m), -1);
    peer_close(p);
    fixture_close(f);
}

/* A state that a newer ludwigd has written. */
static int mystify(struct server *sv, int64_t sweep, struct err *e)
{
    subscribe_touch(sv, sweep);
    return db_run(sv->db, e, SQL_SWEEP_TURN, "iiii", sweep, (int64_t)SWEEP_RUNNING, INT64_C(99),
                  turn_next_version(sv)) < 0
               ? -1
               : 0;
}

/* Else it would be told another state, and could wait for the end of what has ended. */
static void a_subscriber_of_what_nobody_knows_is_cut_off(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f), *other = client_connect(f);
    struct msg_submitted first = submit_all(p, submit_of("demo", 1), 1, 1);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 3);
    struct msg_subscribe again = { .sweep = done.sweep };
    struct envelope m;

    (void)state;
    subscribe(p, (struct msg_subscribe){ .sweep = done.sweep });
    turn_add_work(f->sv.turn, mystify, done.sweep);
    assert_int_equal(peer_receive_any(p, &m), -1);
    /* Who asks is told; and others go on. */
    assert_non_null(
        strstr(peer_refused(other, MSG_SUBSCRIBE, &again, ERR_INTERNAL), "is not known here"));
    assert_int_equal(subscribe(other, (struct msg_subscribe){ .sweep = first.sweep }).sweep.state,
                     SWEEP_RUNNING);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void everything_is_told_in_pages_and_then_only_what_is_new(void **state)
{
    enum { N = 3 * SUBSCRIBE_JOBS_MAX + 7 };
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, N);
    struct msg_changes page =
        subscribe(p, (struct msg_subscribe){ .sweep = done.sweep, .jobs = true });
    int seen[N] = { 0 };

    (void)state;
    mark_seen(&page, seen, N);
    while (page.more) {
        page = next_changes(p);
        mark_seen(&page, seen, N);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    memset(seen, 0, sizeof seen);
    cancel(other, done.sweep, 5, 6);
    do { /* a slow turn may end between the two */
        page = next_changes(p);
        mark_seen(&page, seen, N);
    } while (page.more || page.sweep.jobs.cancelled < 2);
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], i == 4 || i == 5);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void a_cursor_of_now_tells_only_what_comes(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct peer *other = client_connect(f);
    struct msg_changes page =
        subscribe(p, (struct msg_subscribe){ .sweep = done.sweep, .jobs = true, .cursor = -1 });

    (void)state;
    assert_int_equal(page.jobs.n, 0);
    cancel(other, done.sweep, 2, 2);
    page = next_changes(p);
    assert_int_equal(page.jobs.n, 1);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void who_comes_back_with_a_cursor_misses_nothing(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 9);
    struct msg_changes page =
        subscribe(p, (struct msg_subscribe){ .sweep = done.sweep, .jobs = true });
    int seen[9] = { 0 };

    (void)state;
    peer_close(p);
    cancel(other, done.sweep, 3, 5); /* while nobody listens */
    p = client_connect(f);
    page = subscribe(
        p, (struct msg_subscribe){ .sweep = done.sweep, .jobs = true, .cursor = page.cursor });
    mark_seen(&page, seen, 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(seen[i], i >= 2 && i <= 4);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

/* Cancelling goes on behind the reader's back while it is in the middle of the pages. */
static void a_slow_reader_gets_each_job_as_it_is_in_the_end(void **state)
{
    enum { N = 1024 };
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, N);
    struct msg_subscribe request = { .sweep = done.sweep, .jobs = true };
    int last_state[N];
    struct msg_changes page;

    (void)state;
    peer_send(p, MSG_SUBSCRIBE, &request);
    for (int i = 0; i < 8; i++) {
        cancel(other, done.sweep, 128 * i + 1, 128 * i + 128);
        fixture_settle(f);
        assert_true(chan_queued_bytes(p->conn->chan) < 2 * CONN_PUSH_MARK);
    }
    for (int i = 0; i < N; i++)
        last_state[i] = -1;
    do {
        const struct job_info *jobs;

        page = next_changes(p);
        jobs = page.jobs.items;
        for (size_t i = 0; i < page.jobs.n; i++)
            last_state[atoi(strchr(jobs[i].job, '.') + 1) - 1] = jobs[i].state;
    } while (page.more || page.sweep.state == SWEEP_RUNNING || page.cursor < turn_version(&f->sv));
    for (int i = 0; i < N; i++)
        assert_int_equal(last_state[i], JOB_CANCELLED);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void a_summary_tells_no_jobs_and_how_it_ended(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 3);
    struct msg_changes page = subscribe(p, (struct msg_subscribe){ .sweep = done.sweep });

    (void)state;
    assert_int_equal(page.sweep.state, SWEEP_RUNNING);
    cancel(other, done.sweep, 0, 0);
    do { /* the submit's own change may be told late */
        page = next_changes(p);
        assert_int_equal(page.jobs.n, 0);
    } while (page.sweep.state == SWEEP_RUNNING);
    assert_int_equal(page.sweep.state, SWEEP_CANCELLED);
    assert_true(page.sweep.ended_at > 0);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void who_follows_one_job_hears_of_that_one(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct msg_changes page = subscribe(p, (struct msg_subscribe){ .sweep = done.sweep, .job = 3 });
    const struct job_info *jobs;
    struct envelope m;

    (void)state;
    assert_int_equal(page.jobs.n, 1);
    cancel(other, done.sweep, 1, 2);
    fixture_settle(f);
    assert_int_equal(peer_look(p, &m), 2); /* nothing */
    cancel(other, done.sweep, 3, 3);
    page = next_changes(p);
    jobs = page.jobs.items;
    assert_int_equal(page.jobs.n, 1);
    assert_int_equal(jobs[0].state, JOB_CANCELLED);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void others_see_how_far_it_is_but_not_its_jobs(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = stranger_connect(f, 1);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct msg_subscribe jobs = { .sweep = done.sweep, .jobs = true };
    struct msg_subscribe one = { .sweep = done.sweep, .job = 1 };
    struct msg_subscribe none = { .sweep = 99 };

    (void)state;
    peer_refused(other, MSG_SUBSCRIBE, &jobs, ERR_DENIED);
    peer_refused(other, MSG_SUBSCRIBE, &one, ERR_DENIED);
    peer_refused(other, MSG_SUBSCRIBE, &none, ERR_NOT_FOUND);
    assert_int_equal(subscribe(other, (struct msg_subscribe){ .sweep = done.sweep }).jobs.n, 0);
    assert_null(p->conn->subscriptions);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void a_connection_has_so_many_subscriptions(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 1);
    struct msg_subscribe request = { .sweep = done.sweep };

    (void)state;
    for (int i = 0; i < SUBSCRIBE_MAX; i++)
        subscribe(p, request);
    peer_refused(p, MSG_SUBSCRIBE, &request, ERR_BUSY);
    peer_close(p);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_answer_comes_at_once),
        cmocka_unit_test(a_subscriber_that_would_miss_a_page_is_cut_off),
        cmocka_unit_test(a_subscriber_of_what_nobody_knows_is_cut_off),
        cmocka_unit_test(everything_is_told_in_pages_and_then_only_what_is_new),
        cmocka_unit_test(a_cursor_of_now_tells_only_what_comes),
        cmocka_unit_test(who_comes_back_with_a_cursor_misses_nothing),
        cmocka_unit_test(a_slow_reader_gets_each_job_as_it_is_in_the_end),
        cmocka_unit_test(a_summary_tells_no_jobs_and_how_it_ended),
        cmocka_unit_test(who_follows_one_job_hears_of_that_one),
        cmocka_unit_test(others_see_how_far_it_is_but_not_its_jobs),
        cmocka_unit_test(a_connection_has_so_many_subscriptions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

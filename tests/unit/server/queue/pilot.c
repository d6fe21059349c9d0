/* SPDX-License-Identifier: MIT */
/* pilot.c - whose worker is a pilot's, and what it still has time for */

#include "tests/unit/server_fixture.h"

#include "server/pilot/pilots_internal.h"
#include "server/queue/pilot_rows.h"
#include "server/slurm/slurmstate.h"

#define MINUTE INT64_C(60000)

/* A pool of that user, and an array of pilots in it. */
static struct token add_array(struct fixture *f, uid_t uid, int64_t n)
{
    const struct slurm_pool spec = { .partition = "short" };
    struct buf bytes = { 0 };
    struct token token;
    struct err e = { 0 };
    int64_t pool = 0;

    token_make(&token);
    schema_encode(&slurm_pool_schema, &spec, &bytes);
    assert_int_equal(db_get(f->sv.db, &e, SQL_POOL_TAKE, "isb>i", (int64_t)uid, "somebody",
                            buf_bytes(&bytes), &pool),
                     1);
    for (int64_t task = 0; task < n; task++)
        assert_int_equal(db_run(f->sv.db, &e, SQL_PILOT_ADD, "iitiisssiiiiiiii", pool, INT64_C(1),
                                &token, task, INT64_C(2), "ludwig-1", "ludwig", "p", INT64_C(1),
                                INT64_C(0), INT64_C(0), 10 * MINUTE, (int64_t)PILOT_WAITS,
                                INT64_C(1), INT64_C(0), INT64_C(0)),
                         1);
    buf_free(&bytes);
    return token;
}

static struct token add_pilots(struct fixture *f, uid_t uid)
{
    return add_array(f, uid, 2);
}

static struct msg_hello hello_of(struct token token, const char *job)
{
    return (struct msg_hello){ .version = PROTO_VERSION,
                               .program = "ludwig-worker",
                               .pilot = { token, job, 0 } };
}

static void a_pilot_is_known_by_its_token_and_task(void **state)
{
    struct fixture *f = fixture_open();
    struct msg_hello first = hello_of(add_pilots(f, geteuid()), "17_0"), second = first;
    struct peer *p = peer_connect(f), *q = peer_connect(f);

    (void)state;
    second.pilot.slurm_job = "17_1";
    peer_ask(p, MSG_HELLO, &first, NULL);
    peer_ask(q, MSG_HELLO, &second, NULL);
    assert_int_not_equal(p->conn->pilot, 0);
    assert_int_not_equal(q->conn->pilot, 0);
    assert_int_not_equal(p->conn->pilot, q->conn->pilot);
    assert_int_equal(p->conn->pool, q->conn->pool);
    peer_close(p);
    peer_close(q);
    fixture_close(f);
}

static void is_refused(struct fixture *f, struct msg_hello hello)
{
    struct peer *p = peer_connect(f);

    assert_non_null(strstr(peer_refused(p, MSG_HELLO, &hello, ERR_DENIED), hello.pilot.slurm_job));
    peer_close(p);
}

static void nobody_is_a_pilot_with_another_token_task_or_user(void **state)
{
    struct fixture *f = fixture_open();
    struct token others = add_pilots(f, geteuid() + 1), own = add_pilots(f, geteuid()), none;

    (void)state;
    token_make(&none);
    is_refused(f, hello_of(others, "17_0"));
    is_refused(f, hello_of(own, "17_2"));
    is_refused(f, hello_of(none, "17_1"));
    fixture_close(f);
}

static void a_worker_without_a_token_is_no_pilot(void **state)
{
    struct fixture *f = fixture_open();
    struct msg_hello hello = hello_of((struct token){ { 0 } }, "17");
    struct peer *p = peer_connect(f);

    (void)state;
    peer_ask(p, MSG_HELLO, &hello, NULL);
    assert_int_equal(p->conn->pilot, 0);
    peer_close(p);
    fixture_close(f);
}

static int64_t n_live(struct fixture *f)
{
    struct arena *a = arena_create();
    struct pilot_rows rows;
    struct err e = { 0 };

    assert_int_equal(pilot_rows_live(&f->sv, a, &rows, &e), 0);
    arena_destroy(a);
    return (int64_t)rows.n;
}

/* Slurm may have been wrong, or its scancel late. */
static void one_that_was_taken_for_ended_is_there_again_when_it_comes(void **state)
{
    struct fixture *f = fixture_open();
    struct msg_hello hello = hello_of(add_pilots(f, geteuid()), "17_0");
    struct msg_register reg = { .boot_id = "boot", .node = "n1", .kind = "slurm" };
    struct peer *p = peer_connect(f);
    struct err e = { 0 };

    (void)state;
    token_make(&reg.worker);
    token_make(&reg.incarnation);
    assert_int_equal(pilot_row_end(&f->sv, 1, "is not known to Slurm any more", &e), 0);
    assert_int_equal(n_live(f), 1);
    peer_ask(p, MSG_HELLO, &hello, NULL);
    assert_int_equal(n_live(f), 1);
    peer_ask(p, MSG_REGISTER, &reg, NULL);
    assert_int_equal(n_live(f), 2);
    peer_close(p);
    fixture_close(f);
}

static void an_id_may_have_been_given_to_another_job(void **state)
{
    const struct pilot_row row = { .name = "ludwig-1",
                                   .comment = "ludwig 0a sweep 7: lr",
                                   .submitted_s = 9 };
    static const struct {
        struct slurm_job job;
        bool is_other;
    } known[] = {
        { { .name = "ludwig-1", .comment = "ludwig 0a", .submitted_s = 9 }, false },
        { { .name = "ludwig-2", .comment = "ludwig 0a", .submitted_s = 9 }, true },
        { { .name = "ludwig-1", .comment = "ludwig 0b", .submitted_s = 9 }, true },
        { { .name = "ludwig-1", .comment = "ludwig 0ab sweep 7: lr", .submitted_s = 9 }, true },
        { { .name = "ludwig-1", .comment = "ludwig 0a sweep 7: cut", .submitted_s = 9 }, false },
        { { .name = "ludwig-1", .comment = "ludwig 0a", .submitted_s = 8 }, true },
        /* Of a site's own. */
        { { .name = "ludwig-1", .comment = "billed to hoffman", .submitted_s = 9 }, false },
        { { .name = "ludwig-1", .submitted_s = 9 }, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(look_is_other(&row, &known[i].job), known[i].is_other);
}

static const char *found_task(const struct slurm_job *jobs, size_t n)
{
    const struct pilot_row row = {
        .name = "ludwig-1", .comment = "ludwig 0a", .user = "ada", .task = 0, .tasks = 3
    };
    struct slurm_answer answer = { .n = n };
    const struct slurm_job *job;

    answer.jobs = (struct slurm_job *)(uintptr_t)jobs;
    job = look_for_submitted(&answer, &row);
    return job == NULL ? NULL : job->tasks;
}

/* Its first one may have ended already. */
static void an_array_is_found_by_any_one_of_it(void **state)
{
    const struct slurm_job jobs[] = {
        { .name = "ludwig-2", .comment = "ludwig 0a", .user = "ada", .tasks = "0" },
        { .name = "ludwig-1", .comment = "ludwig 0a", .user = "ada", .tasks = "2" },
    };

    (void)state;
    assert_string_equal(found_task(jobs, 2), "2");
    assert_null(found_task(jobs, 1));
}

static void what_has_its_name_alone_is_not_what_was_submitted(void **state)
{
    const struct slurm_job jobs[] = {
        { .name = "ludwig-1", .comment = "ludwig 0a", .user = "bob", .tasks = "0" },
        { .name = "ludwig-1", .comment = "ludwig 0b", .user = "ada", .tasks = "0" },
    };

    (void)state;
    assert_null(found_task(jobs, 2));
}

static int64_t cancel_some(struct pilots *p)
{
    const struct demands none = { .n = 0 };
    struct err e = { 0 };
    int64_t n = 0;

    assert_int_equal(pilot_rows_live(p->sv, p->arena, &p->rows, &e), 0);
    assert_int_equal(cancel_unneeded(p, &none, &e), 0);
    for (size_t i = 0; i < p->cancel.n; i++)
        n += buf_text(&p->cancel)[i] == '\0';
    buf_clear(&p->cancel);
    return n / 2; /* of each there are the owner and the id */
}

static void submitted(struct fixture *f, const struct token *token)
{
    struct err e = { 0 };

    assert_int_equal(db_run(f->sv.db, &e, SQL_PILOTS_ASKED, "t", token), 1000);
    assert_int_equal(db_run(f->sv.db, &e, SQL_PILOTS_SUBMITTED, "ti", token, INT64_C(1234567)),
                     1000);
}

static void an_array_that_is_given_up_is_cancelled_by_one_id(void **state)
{
    struct fixture *f = fixture_open();
    struct token token = add_array(f, geteuid(), 1000);
    struct pilots p = { .sv = &f->sv, .arena = arena_create() };

    (void)state;
    submitted(f, &token);
    assert_int_equal(cancel_some(&p), 1);
    assert_int_equal(n_live(f), 0);
    buf_free(&p.cancel);
    arena_destroy(p.arena);
    fixture_close(f);
}

/* A command takes so many ids and no more; the others are still there, and come next. */
static void of_an_array_that_has_begun_each_other_is_cancelled(void **state)
{
    struct fixture *f = fixture_open();
    struct token token = add_array(f, geteuid(), 1000);
    struct pilots p = { .sv = &f->sv, .arena = arena_create() };
    struct err e = { 0 };
    int64_t left = 999;

    (void)state;
    submitted(f, &token);
    assert_int_equal(pilot_rows_live(&f->sv, p.arena, &p.rows, &e), 0);
    assert_int_equal(db_run(f->sv.db, &e, SQL_PILOT_PAIR, "iiiii", p.rows.items[0].id, INT64_C(7),
                            (int64_t)PILOT_RUNS, INT64_C(0), INT64_C(1)),
                     1);
    while (left > 0) {
        int64_t n = cancel_some(&p);

        assert_in_range(n, 1, 998);
        left -= n;
        assert_int_equal(n_live(f), left + 1);
    }
    buf_free(&p.cancel);
    arena_destroy(p.arena);
    fixture_close(f);
}

struct known {
    const char *sentence;
    int64_t left_ms;
    struct pilot_need need;
    bool has_time;
};

static const struct known cases[] = {
    { "as long as it declares, and half a minute",
      5 * MINUTE + PILOT_MARGIN_MS,
      { 5 * MINUTE, 0 },
      true },
    { "less than that", 5 * MINUTE + PILOT_MARGIN_MS - 1, { 5 * MINUTE, 0 }, false },
    { "what it declares counts, not what others took", 3 * MINUTE, { 5 * MINUTE, MINUTE }, false },
    { "twice as long as others took", 2 * MINUTE + PILOT_MARGIN_MS, { 0, MINUTE }, true },
    { "less than twice", 2 * MINUTE, { 0, MINUTE }, false },
    { "nobody knows, and it has just begun", 9 * MINUTE, { 0, 0 }, true },
    { "nobody knows, and it has run for a while", 8 * MINUTE, { 0, 0 }, false },
};

static void a_pilot_takes_what_can_end_in_its_time(void **state)
{
    const struct conn plain = { .pilot = 0 }, endless = { .pilot = 1 };
    const struct pilot_need day = { 1440 * MINUTE, 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct conn c = { .pilot = 1,
                                .pilot_time_ms = 10 * MINUTE,
                                .pilot_ends_at_ms = 1000000 + cases[i].left_ms };

        if (pilot_has_time(&c, &cases[i].need, 1000000) != cases[i].has_time)
            fail_msg("%s", cases[i].sentence);
    }
    assert_true(pilot_has_time(&plain, &day, 1000000));
    assert_true(pilot_has_time(&endless, &day, 1000000));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pilot_is_known_by_its_token_and_task),
        cmocka_unit_test(nobody_is_a_pilot_with_another_token_task_or_user),
        cmocka_unit_test(one_that_was_taken_for_ended_is_there_again_when_it_comes),
        cmocka_unit_test(an_id_may_have_been_given_to_another_job),
        cmocka_unit_test(an_array_is_found_by_any_one_of_it),
        cmocka_unit_test(what_has_its_name_alone_is_not_what_was_submitted),
        cmocka_unit_test(an_array_that_is_given_up_is_cancelled_by_one_id),
        cmocka_unit_test(of_an_array_that_has_begun_each_other_is_cancelled),
        cmocka_unit_test(a_worker_without_a_token_is_no_pilot),
        cmocka_unit_test(a_pilot_takes_what_can_end_in_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* pilot_submit.c - submissions of several users at once, each with an end of its own */

#include "tests/unit/server_fixture.h"

#include "server/pilot/pilots_internal.h"

enum { USER = 4000, MINUTE_MS = 60000 };

/* Nobody here is called so: what is submitted for these users fails before sbatch. */
static void add_pilot(struct fixture *f, uid_t uid)
{
    const struct slurm_pool spec = { .partition = "short" };
    struct buf bytes = { 0 };
    struct token token;
    struct err e = { 0 };
    int64_t pool = 0;

    token_make(&token);
    schema_encode(&slurm_pool_schema, &spec, &bytes);
    assert_int_equal(db_get(f->sv.db, &e, SQL_POOL_TAKE, "isb>i", (int64_t)uid, "no-such-user",
                            buf_bytes(&bytes), &pool),
                     1);
    assert_int_equal(db_run(f->sv.db, &e, SQL_PILOT_ADD, "iitiisssiiiiiiii", pool, INT64_C(1),
                            &token, INT64_C(0), INT64_C(1), "ludwig-1", "ludwig", "p", INT64_C(1),
                            INT64_C(0), INT64_C(0), (int64_t)MINUTE_MS, (int64_t)PILOT_UNCLEAR,
                            INT64_C(1), INT64_C(0), INT64_C(0)),
                     1);
    buf_free(&bytes);
}

static int no_thought(struct server *sv, int64_t unused, struct err *e)
{
    (void)sv;
    (void)unused;
    (void)e;
    return 0;
}

static struct pilots *read_rows(struct fixture *f)
{
    struct pilots *p = f->sv.pilots;
    struct err e = { 0 };

    p->think = no_thought;
    assert_int_equal(pilot_rows_live(&f->sv, p->arena, &p->rows, &e), 0);
    return p;
}

static int begin_one(struct server *sv, void *row, struct err *e)
{
    return submission_begin(sv->pilots, row, e);
}

static int begin_in_vain(struct server *sv, int64_t unused, struct err *e)
{
    const struct pilot_row *row = &sv->pilots->rows.items[0];

    (void)unused;
    assert_int_equal(submission_begin(sv->pilots, row, e), 0);
    assert_true(submission_has(sv->pilots, row));
    return -1;
}

static void each_user_has_one_and_all_have_eight(void **state)
{
    struct fixture *f = fixture_open();
    struct pilots *p;
    struct err e = { 0 };
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    (void)state;
    for (uid_t i = 0; i <= SUBMISSIONS_MAX; i++)
        add_pilot(f, USER + i);
    add_pilot(f, USER);
    p = read_rows(f);
    for (uid_t i = 0; i < SUBMISSIONS_MAX; i++) {
        assert_true(submission_may_begin(p, USER + i));
        assert_int_equal(turn_step(&f->sv, begin_one, &p->rows.items[i], &e), 0);
        assert_false(submission_may_begin(p, USER + i));
    }
    assert_false(submission_may_begin(p, USER + SUBMISSIONS_MAX));
    /* What is being submitted is not looked for, whatever else its user has. */
    read_rows(f);
    assert_true(submission_has(p, &p->rows.items[0]));
    assert_false(look_is_wanted(p, &p->rows.items[0]));
    assert_false(submission_has(p, &p->rows.items[SUBMISSIONS_MAX + 1]));
    /* Each is written down for itself. */
    while (p->rows.n > 2 && units_monotonic_ms() < until_ms) {
        turn_wake(f->sv.turn);
        fixture_settle(f);
        read_rows(f);
    }
    assert_int_equal(p->rows.n, 2);
    assert_int_equal(p->rows.items[0].uid, USER + SUBMISSIONS_MAX);
    assert_int_equal(p->rows.items[1].uid, USER);
    for (uid_t i = 0; i <= SUBMISSIONS_MAX; i++)
        assert_true(submission_may_begin(p, USER + i));
    fixture_close(f);
}

static void a_turn_that_fails_has_begun_none(void **state)
{
    struct fixture *f = fixture_open();
    struct pilots *p;

    (void)state;
    add_pilot(f, USER);
    p = read_rows(f);
    turn_add_work(f->sv.turn, begin_in_vain, 0);
    fixture_settle(f);
    assert_false(turn_has_work(f->sv.turn, begin_in_vain, 0));
    assert_true(submission_may_begin(p, USER));
    read_rows(f);
    assert_false(p->rows.items[0].was_asked);
    fixture_close(f);
}

static void what_is_under_way_ends_with_ludwigd(void **state)
{
    struct fixture *f = fixture_open();
    struct err e = { 0 };

    (void)state;
    add_pilot(f, USER);
    assert_int_equal(turn_step(&f->sv, begin_one, &read_rows(f)->rows.items[0], &e), 0);
    fixture_close(f);
}

/* As submissions end while Slurm is looked at. */
static void a_look_that_is_asked_for_during_another_comes_after_it(void **state)
{
    struct fixture *f = fixture_open();
    struct pilots *p = read_rows(f);

    (void)state;
    look_begin(p);
    pilots_look_soon(p);
    fixture_settle(f);
    assert_null(p->look);
    assert_in_range(p->look_at_ms, 1, units_monotonic_ms() + PILOTS_LOOK_FIRST_MS);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_user_has_one_and_all_have_eight),
        cmocka_unit_test(a_turn_that_fails_has_begun_none),
        cmocka_unit_test(what_is_under_way_ends_with_ludwigd),
        cmocka_unit_test(a_look_that_is_asked_for_during_another_comes_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

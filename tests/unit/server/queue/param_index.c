/* SPDX-License-Identifier: MIT */
/* param_index.c - a configuration is found again, wherever its digest lies by then */
#include "tests/unit/server_fixture.h"

#include "server/queue/param_index.h"

enum { PROJECT = 3, CHUNK = 1024, MANY = 2 * PARAM_INDEX_BATCH + 2 * CHUNK };

/* Work is given one number: what it is to do, and what came of it. */
static struct {
    int64_t first, last;
    bool fails;
    int64_t missing;
    int64_t wrong;
} plan;

static void digest_nth(int64_t n, struct digest *d)
{
    digest_of(&n, sizeof n, d);
}

static int add_some(struct server *sv, int64_t unused, struct err *e)
{
    struct bytes value = { (const uint8_t *)"\x80", 1 };
    struct digest d;
    int64_t param;

    (void)unused;
    param_index_begin(sv);
    for (int64_t n = plan.first; n <= plan.last; n++) {
        digest_nth(n, &d);
        if (param_index_find(sv, PROJECT, &d, &param, e) == 0 &&
            param_index_add(sv, PROJECT, n, &d, value, &param, e) < 0)
            return -1;
    }
    if (param_index_end(sv, e) < 0)
        return -1;
    return plan.fails ? err_set(e, ERR_FAILED, "on purpose") : 0;
}

/* Rows were added in the order of their numbers, from row 1 on. */
static int look_for(struct server *sv, int64_t unused, struct err *e)
{
    struct digest d;
    int64_t param;

    (void)unused;
    for (int64_t n = plan.first; n <= plan.last; n++) {
        digest_nth(n, &d);
        if (param_index_find(sv, PROJECT, &d, &param, e) != 1)
            plan.missing++;
        else if (param != n)
            plan.wrong++;
    }
    return 0;
}

static void run(struct fixture *f, turn_work_fn work, int64_t first, int64_t last)
{
    plan.first = first;
    plan.last = last;
    plan.missing = plan.wrong = 0;
    turn_add_work(f->sv.turn, work, 0);
    fixture_settle(f);
}

static void add(struct fixture *f, int64_t first, int64_t last)
{
    for (int64_t n = first; n <= last; n += CHUNK)
        run(f, add_some, n, n + CHUNK - 1 < last ? n + CHUNK - 1 : last);
}

static void expect_found(struct fixture *f, int64_t last)
{
    run(f, look_for, 1, last);
    assert_int_equal(plan.missing, 0);
    assert_int_equal(plan.wrong, 0);
}

static void restart(struct fixture *f)
{
    server_close(&f->sv);
    fixture_start(f);
}

static void a_few_are_found_at_once_and_after_a_restart(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    plan.fails = false;
    add(f, 1, 5000);
    expect_found(f, 5000);
    restart(f);
    expect_found(f, 5000);
    fixture_close(f);
}

static void many_go_to_the_index_in_batches_and_are_found(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    plan.fails = false;
    add(f, 1, MANY);
    assert_true(param_index_waiting(f->sv.params) < MANY - PARAM_INDEX_BATCH);
    expect_found(f, MANY);
    restart(f);
    expect_found(f, MANY);
    add(f, MANY + 1, MANY + PARAM_INDEX_BATCH); /* and it goes on */
    expect_found(f, MANY + PARAM_INDEX_BATCH);
    fixture_close(f);
}

static void what_a_failed_handler_added_is_forgotten(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    plan.fails = false;
    add(f, 1, 3000);
    plan.fails = true;
    run(f, add_some, 3001, 4000);
    run(f, look_for, 3001, 4000);
    assert_int_equal(plan.missing, 1000);
    plan.fails = false;
    add(f, 3001, 4000);
    expect_found(f, 4000);
    fixture_close(f);
}

static void a_failure_in_the_middle_of_a_batch_loses_none(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    for (int64_t n = 1; n < MANY; n += CHUNK) {
        plan.fails = n % 5 == 0;
        run(f, add_some, n, n + CHUNK - 1);
        plan.fails = false;
        run(f, add_some, n, n + CHUNK - 1);
    }
    expect_found(f, MANY);
    restart(f);
    expect_found(f, MANY);
    fixture_close(f);
}

static void another_project_does_not_have_it(void **state)
{
    struct fixture *f = fixture_open();
    struct digest d;
    int64_t param;

    (void)state;
    plan.fails = false;
    add(f, 1, 10);
    digest_nth(5, &d);
    assert_int_equal(param_index_find(&f->sv, PROJECT + 1, &d, &param, NULL), 0);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_are_found_at_once_and_after_a_restart),
        cmocka_unit_test(many_go_to_the_index_in_batches_and_are_found),
        cmocka_unit_test(what_a_failed_handler_added_is_forgotten),
        cmocka_unit_test(a_failure_in_the_middle_of_a_batch_loses_none),
        cmocka_unit_test(another_project_does_not_have_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

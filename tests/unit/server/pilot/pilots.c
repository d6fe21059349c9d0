/* SPDX-License-Identifier: MIT */
/* pilots.c - which step comes next, while users' submissions are under way */

#include "tests/unit/server_player.h"

#include "server/pilot/pilots_internal.h"

enum { ADA = 4000, BEA, CYD, USERS };

/* The jobs of the scene's sweep wait for pilots of three users. */
static int set_up_pools(void **state)
{
    struct scene *s = scene_open();
    const struct slurm_pool spec = { .partition = "short" };
    struct buf bytes = { 0 };
    struct pilots *p = s->f->sv.pilots;
    struct err e = { 0 };

    s->sweep = submit_all(s->client, submit_of("p", 1), 1, USERS - ADA).sweep;
    schema_encode(&slurm_pool_schema, &spec, &bytes);
    for (int64_t uid = ADA; uid < USERS; uid++) {
        int64_t pool = 0;

        assert_int_equal(db_get(s->f->sv.db, &e, SQL_POOL_TAKE, "isb>i", uid, "no-such-user",
                                buf_bytes(&bytes), &pool),
                         1);
        assert_int_equal(db_run(s->f->sv.db, &e, SQL_SWEEP_POOL_ADD, "ii", s->sweep, pool), 1);
    }
    buf_free(&bytes);
    p->site.arena = arena_create();
    p->site.asked_at_ms = units_monotonic_ms();
    *state = s;
    return 0;
}

/* Thinks until there is nothing more to begin; nothing that has begun goes on. */
static struct pilots *think(struct scene *s)
{
    struct pilots *p = s->f->sv.pilots;
    struct err e = { 0 };
    int rc;

    while ((rc = p->think(&s->f->sv, 0, &e)) == 1)
        ;
    assert_int_equal(rc, 0);
    return p;
}

static void users_do_not_wait_for_each_other(void **state)
{
    const struct pilots *p = think(*state);

    assert_int_equal(p->rows.n, USERS - ADA);
    for (uid_t uid = ADA; uid < USERS; uid++)
        assert_false(submission_may_begin(p, uid));
    for (size_t i = 0; i < p->rows.n; i++)
        assert_true(p->rows.items[i].was_asked && submission_has(p, &p->rows.items[i]));
}

static void a_scancel_or_a_look_is_waited_for(void **state)
{
    struct scene *s = *state;

    s->f->sv.pilots->is_busy = true;
    assert_int_equal(think(s)->rows.n, 0);
}

/* It is ended in the same turn, as its jobs were cancelled or Slurm has refused another one of its pool. */
static void a_pilot_that_is_not_needed_any_more_is_not_submitted(void **state)
{
    struct scene *s = *state;
    struct pilots *p = s->f->sv.pilots;
    struct err e = { 0 };

    assert_int_equal(p->think(&s->f->sv, 0, &e), 1); /* their rows */
    assert_int_equal(p->think(&s->f->sv, 0, &e), 1); /* a submission */
    assert_false(submission_may_begin(p, ADA));
    assert_true(submission_may_begin(p, BEA));
    for (size_t i = 0; i < p->rows.n; i++)
        assert_int_equal(pool_refuse(&s->f->sv, &p->rows.items[i], "not you", &e), 0);
    think(s);
    for (uid_t uid = BEA; uid < USERS; uid++)
        assert_true(submission_may_begin(p, uid));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(users_do_not_wait_for_each_other, set_up_pools, tear_down),
        cmocka_unit_test_setup_teardown(a_scancel_or_a_look_is_waited_for, set_up_pools, tear_down),
        cmocka_unit_test_setup_teardown(a_pilot_that_is_not_needed_any_more_is_not_submitted,
                                        set_up_pools, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

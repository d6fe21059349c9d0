/* SPDX-License-Identifier: MIT */
/* pilot_grow.c - what waits for each pool, with what is about to come back */

#include "tests/unit/server_player.h"

#include "server/pilot/pilots_internal.h"

enum { JOBS = 4 };

/* The sweep of the scene gets its pilots from here. */
static void add_pool(struct scene *s)
{
    const struct slurm_pool spec = { .partition = "short" };
    struct buf bytes = { 0 };
    struct err e = { 0 };
    int64_t pool = 0;

    schema_encode(&slurm_pool_schema, &spec, &bytes);
    assert_int_equal(db_get(s->f->sv.db, &e, SQL_POOL_TAKE, "isb>i", (int64_t)geteuid(), "somebody",
                            buf_bytes(&bytes), &pool),
                     1);
    assert_int_equal(db_run(s->f->sv.db, &e, SQL_SWEEP_POOL_ADD, "ii", s->sweep, pool), 1);
    buf_free(&bytes);
}

/* JOBS of them run. */
static int set_up_pool(void **state)
{
    struct scene *s = scene_open();

    s->sweep = submit_all(s->client, submit_of("p", 1), 1, JOBS).sweep;
    join(s->f, &s->w, "n1", JOBS);
    assert_int_equal(s->w.n_hand, JOBS);
    for (size_t i = 0; i < JOBS; i++)
        tell(&s->w, &s->w.hand[i], EV_RUN);
    add_pool(s);
    *state = s;
    return 0;
}

static int64_t jobs_wanted(struct scene *s)
{
    struct arena *a = arena_create();
    struct demands all = { 0 };
    struct err e = { 0 };
    int64_t n = 0;

    assert_int_equal(demands_read(&s->f->sv, a, &all, &e), 0);
    if (all.n > 0) {
        assert_int_equal(all.n, 1);
        assert_int_equal(all.items[0].n, 1);
        n = all.items[0].items[0].jobs;
    }
    demands_free(&all);
    arena_destroy(a);
    return n;
}

static void retires(struct scene *s, bool gives_back)
{
    const struct msg_retiring m = { "its Slurm job was told to end", false, gives_back };

    peer_send(s->w.peer, MSG_RETIRING, &m);
    listen_to(&s->w);
}

static void comes_back(struct scene *s, size_t i)
{
    report(&s->w, (struct report){ .token = s->w.hand[i].token,
                                   .event = EV_LOSE,
                                   .cause = CAUSE_PREEMPTED,
                                   .reason = "Slurm took the place" });
}

static void jobs_that_are_ended_together_are_waited_for_together(void **state)
{
    struct scene *s = *state;

    retires(s, true);
    assert_int_equal(jobs_wanted(s), 0); /* all of them may still be done */
    comes_back(s, 0);
    assert_int_equal(jobs_wanted(s), JOBS);
    tell(&s->w, &s->w.hand[1], EV_DONE);
    assert_int_equal(jobs_wanted(s), JOBS - 1);
    comes_back(s, 2);
    comes_back(s, 3);
    assert_int_equal(jobs_wanted(s), JOBS - 1);
}

static void a_pilot_that_lets_its_jobs_end_gives_nothing_back(void **state)
{
    struct scene *s = *state;

    retires(s, false);
    comes_back(s, 0);
    assert_int_equal(jobs_wanted(s), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_that_are_ended_together_are_waited_for_together,
                                        set_up_pool, tear_down),
        cmocka_unit_test_setup_teardown(a_pilot_that_lets_its_jobs_end_gives_nothing_back,
                                        set_up_pool, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

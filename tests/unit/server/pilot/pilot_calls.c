/* SPDX-License-Identifier: MIT */
/* pilot_calls.c - how long a pool waits for its next pilot */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/base/units.h"
#include "server/pilot/pilots_internal.h"

enum { POOL = 7, SECOND = 1000 };

static void wait_over(struct pilots *p)
{
    pilots_find_backoff(p, POOL)->ends_ms = units_monotonic_ms();
}

static int64_t ends_ms(struct pilots *p)
{
    return pilots_find_backoff(p, POOL)->ends_ms;
}

/* Whether at_ms is so much later than now, which was between before_ms and this call. */
static void is_later(int64_t at_ms, int64_t before_ms, int64_t by_ms)
{
    assert_in_range(at_ms, before_ms + by_ms, units_monotonic_ms() + by_ms);
}

static void free_rests(struct pilots *p)
{
    for (size_t i = 0; i < p->n_backoffs; i++)
        free(p->backoffs[i].why);
    free(p->backoffs);
}

static void what_dies_again_and_again_waits_longer_though_slurm_accepts_it(void **state)
{
    struct pilots p = { .n_backoffs = 0 };
    struct server sv = { .pilots = &p };

    (void)state;
    for (int64_t expected_ms = 15 * SECOND, i = 0; i < 5; i++, expected_ms *= 2) {
        int64_t before_ms = units_monotonic_ms();

        pilots_back_off(&p, POOL, true, "has failed");
        is_later(ends_ms(&p), before_ms, expected_ms);
        wait_over(&p);
        pilots_submitted(&p, POOL);
        assert_non_null(pilots_find_backoff(&p, POOL));
    }
    pilots_try_anew(&sv, POOL);
    assert_null(pilots_find_backoff(&p, POOL));
    free_rests(&p);
}

static void an_array_that_dies_has_failed_once(void **state)
{
    struct pilots p = { .n_backoffs = 0 };
    int64_t before_ms = units_monotonic_ms(), first_ms;

    (void)state;
    pilots_back_off(&p, POOL, true, "has failed");
    first_ms = ends_ms(&p);
    is_later(first_ms, before_ms, 15 * SECOND);
    for (int i = 1; i < 100; i++)
        pilots_back_off(&p, POOL, true, "has failed");
    assert_int_equal(ends_ms(&p), first_ms);
    free_rests(&p);
}

static void what_was_not_taken_is_forgotten_when_the_next_is_accepted(void **state)
{
    struct pilots p = { .n_backoffs = 0 };

    (void)state;
    pilots_back_off(&p, POOL, false, "was not taken");
    pilots_submitted(&p, POOL);
    assert_null(pilots_find_backoff(&p, POOL));
    free_rests(&p);
}

static void slurm_is_looked_at_twice_a_minute_unless_one_was_submitted(void **state)
{
    struct pilots p = { .n_backoffs = 0 };
    int64_t before_ms = units_monotonic_ms();

    (void)state;
    pilots_look_in(&p, PILOTS_LOOK_FIRST_MS);
    is_later(p.look_at_ms, before_ms, 4 * SECOND);
    p.look_at_ms = 0;
    p.looked_at_ms = units_monotonic_ms();
    for (int i = 0; i < 10; i++)
        pilots_look_in(&p, 0);
    assert_int_equal(p.look_at_ms, p.looked_at_ms + 30 * SECOND);
    before_ms = units_monotonic_ms();
    for (int i = 0; i < 10; i++)
        pilots_look_soon(&p);
    is_later(p.look_at_ms, before_ms, 4 * SECOND);
}

/* Who owns a process may stop it, kill it, and choose what it complains about. */
static void what_another_user_s_sbatch_says_keeps_nobody_else_waiting(void **state)
{
    const struct {
        const char *said;
        bool is_late;
    } all[] = { { "sbatch: error: Unable to contact slurm controller", false },
                { "sbatch: unrecognized option '--resolve_ctls_from_dns_srv=1'", false },
                { "", true } };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct slurm_result result = { .exit_code = 1, .is_late = all[i].is_late };
        enum slurm_failure failure;

        buf_add_str(&result.said, all[i].said);
        failure = slurm_failure_of(&result);
        buf_free(&result.said);
        assert_true(pilots_are_all_away(failure, true, true));
        assert_false(pilots_are_all_away(failure, true, false));
        assert_false(pilots_are_all_away(failure, false, true));
    }
    assert_false(pilots_are_all_away(SLURM_UNCLEAR, true, true));
}

/* Rows of those that were refused may be there or not: p thinks while they are being submitted. */
static void others_are_counted_whether_or_not_the_refused_ones_are_still_there(void **state)
{
    struct pilot_row rows[] = { { .uid = 1, .pool = POOL, .tasks = 2, .token = { { 1 } } },
                                { .uid = 1, .pool = POOL, .tasks = 2, .token = { { 1 } } },
                                { .uid = 1, .token = { { 2 } } },
                                { .uid = 2, .token = { { 3 } } } };

    (void)state;
    for (size_t n_gone = 0; n_gone <= 2; n_gone += 2) {
        struct pilots p = { .rows = { rows + n_gone, 4 - n_gone } };

        pilots_full(&p, rows, "was not taken");
        assert_int_equal(pilots_find_backoff(&p, POOL)->n_there, 1);
        free_rests(&p);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_dies_again_and_again_waits_longer_though_slurm_accepts_it),
        cmocka_unit_test(an_array_that_dies_has_failed_once),
        cmocka_unit_test(what_was_not_taken_is_forgotten_when_the_next_is_accepted),
        cmocka_unit_test(what_another_user_s_sbatch_says_keeps_nobody_else_waiting),
        cmocka_unit_test(others_are_counted_whether_or_not_the_refused_ones_are_still_there),
        cmocka_unit_test(slurm_is_looked_at_twice_a_minute_unless_one_was_submitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

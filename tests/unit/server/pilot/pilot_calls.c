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
    pilots_resting(p, POOL)->ends_ms = units_monotonic_ms();
}

static int64_t ends_ms(struct pilots *p)
{
    return pilots_resting(p, POOL)->ends_ms;
}

/* Whether at_ms is so much later than now, which was between before_ms and this call. */
static void is_later(int64_t at_ms, int64_t before_ms, int64_t by_ms)
{
    assert_in_range(at_ms, before_ms + by_ms, units_monotonic_ms() + by_ms);
}

static void free_rests(struct pilots *p)
{
    for (size_t i = 0; i < p->n_rests; i++)
        free(p->rests[i].why);
    free(p->rests);
}

static void what_dies_again_and_again_waits_longer_though_slurm_accepts_it(void **state)
{
    struct pilots p = { .n_rests = 0 };
    struct server sv = { .pilots = &p };

    (void)state;
    for (int64_t expected_ms = 15 * SECOND, i = 0; i < 5; i++, expected_ms *= 2) {
        int64_t before_ms = units_monotonic_ms();

        pilots_rest(&p, POOL, true, "has failed");
        is_later(ends_ms(&p), before_ms, expected_ms);
        wait_over(&p);
        pilots_submitted(&p, POOL);
        assert_non_null(pilots_resting(&p, POOL));
    }
    pilots_try_anew(&sv, POOL);
    assert_null(pilots_resting(&p, POOL));
    free_rests(&p);
}

static void an_array_that_dies_has_failed_once(void **state)
{
    struct pilots p = { .n_rests = 0 };
    int64_t before_ms = units_monotonic_ms(), first_ms;

    (void)state;
    pilots_rest(&p, POOL, true, "has failed");
    first_ms = ends_ms(&p);
    is_later(first_ms, before_ms, 15 * SECOND);
    for (int i = 1; i < 100; i++)
        pilots_rest(&p, POOL, true, "has failed");
    assert_int_equal(ends_ms(&p), first_ms);
    free_rests(&p);
}

static void what_was_not_taken_is_forgotten_when_the_next_is_accepted(void **state)
{
    struct pilots p = { .n_rests = 0 };

    (void)state;
    pilots_rest(&p, POOL, false, "was not taken");
    pilots_submitted(&p, POOL);
    assert_null(pilots_resting(&p, POOL));
    free_rests(&p);
}

static void slurm_is_looked_at_twice_a_minute_unless_one_was_submitted(void **state)
{
    struct pilots p = { .n_rests = 0 };
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_dies_again_and_again_waits_longer_though_slurm_accepts_it),
        cmocka_unit_test(an_array_that_dies_has_failed_once),
        cmocka_unit_test(what_was_not_taken_is_forgotten_when_the_next_is_accepted),
        cmocka_unit_test(slurm_is_looked_at_twice_a_minute_unless_one_was_submitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

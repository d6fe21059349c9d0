/* SPDX-License-Identifier: MIT */
/* ssh_warmup.c - tests of how much is sent for nothing, and when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/data/schema.h"
#include "common/ssh/ssh_warmup.h"

enum { FIRST = SSH_WARMUP_FIRST_BYTES, ROUND_TRIP_MS = 50 };

static void each_answer_brings_a_lot_twice_as_large(void **state)
{
    struct ssh_warmup w = ssh_warmup_of(7 * FIRST, ROUND_TRIP_MS);
    uint64_t heard_bytes = 1000;
    int64_t now_ms = 5000;

    (void)state;
    for (size_t lot = 1; lot <= 4; lot *= 2) {
        assert_int_equal(ssh_warmup_next(&w, heard_bytes, now_ms), lot * FIRST);
        assert_int_equal(ssh_warmup_next(&w, heard_bytes, now_ms + 1), 0);
        heard_bytes += 52;
        now_ms += ROUND_TRIP_MS;
    }
    assert_int_equal(ssh_warmup_next(&w, heard_bytes, now_ms), 0);
}

static void what_comes_too_soon_is_no_answer(void **state)
{
    struct ssh_warmup w = ssh_warmup_of(100 * FIRST, ROUND_TRIP_MS);

    (void)state;
    assert_int_equal(ssh_warmup_next(&w, 1, 1000), FIRST);
    assert_int_equal(ssh_warmup_next(&w, 2, 1000 + ROUND_TRIP_MS / 2 - 1), 0);
    assert_int_equal(ssh_warmup_next(&w, 2, 1000 + ROUND_TRIP_MS / 2), 2 * FIRST);
}

static void no_lot_is_larger_than_what_is_left(void **state)
{
    struct ssh_warmup w = ssh_warmup_of(4 * FIRST, ROUND_TRIP_MS);

    (void)state;
    assert_int_equal(ssh_warmup_next(&w, 1, 0), FIRST);
    assert_int_equal(ssh_warmup_next(&w, 2, 50), 2 * FIRST);
    assert_int_equal(ssh_warmup_next(&w, 3, 100), 0);
    assert_int_equal(ssh_warmup_next(&w, 4, 150), 0);
}

static void a_slow_line_gets_no_more(void **state)
{
    struct ssh_warmup w = ssh_warmup_of(100 * FIRST, ROUND_TRIP_MS);

    (void)state;
    assert_int_equal(ssh_warmup_next(&w, 1, 0), FIRST);
    assert_int_equal(ssh_warmup_next(&w, 2, 3 * ROUND_TRIP_MS), 2 * FIRST);
    assert_int_equal(ssh_warmup_next(&w, 3, 6 * ROUND_TRIP_MS + 1), 0);
    assert_int_equal(ssh_warmup_next(&w, 4, 6 * ROUND_TRIP_MS + 2), 0);
}

static void where_it_is_of_no_use_nothing_is_sent(void **state)
{
    struct ssh_warmup none = ssh_warmup_of(0, ROUND_TRIP_MS);
    struct ssh_warmup unknown = ssh_warmup_of(100 * FIRST, SCHEMA_NONE);
    struct ssh_warmup near = ssh_warmup_of(100 * FIRST, 1);

    (void)state;
    assert_int_equal(ssh_warmup_next(&none, 1, 0), 0);
    assert_int_equal(ssh_warmup_next(&unknown, 1, 0), 0);
    assert_int_equal(ssh_warmup_next(&near, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_brings_a_lot_twice_as_large),
        cmocka_unit_test(what_comes_too_soon_is_no_answer),
        cmocka_unit_test(no_lot_is_larger_than_what_is_left),
        cmocka_unit_test(a_slow_line_gets_no_more),
        cmocka_unit_test(where_it_is_of_no_use_nothing_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

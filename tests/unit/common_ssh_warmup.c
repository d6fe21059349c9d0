/* SPDX-License-Identifier: MIT */
/* common_ssh_warmup.c - tests of how much is sent for nothing, and when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/schema.h"
#include "common/ssh_warmup.h"

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

static void what_may_cost_nothing_or_has_no_known_length_gets_none(void **state)
{
    struct ssh_warmup none = ssh_warmup_of(0, ROUND_TRIP_MS);
    struct ssh_warmup unknown = ssh_warmup_of(100 * FIRST, SCHEMA_NONE);

    (void)state;
    assert_int_equal(ssh_warmup_next(&none, 1, 0), 0);
    assert_int_equal(ssh_warmup_next(&unknown, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_brings_a_lot_twice_as_large),
        cmocka_unit_test(no_lot_is_larger_than_what_is_left),
        cmocka_unit_test(a_slow_line_gets_no_more),
        cmocka_unit_test(what_may_cost_nothing_or_has_no_known_length_gets_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

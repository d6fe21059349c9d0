/* SPDX-License-Identifier: MIT */
/* units.c - sizes, durations, fractions and moments */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/units.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { REFUSED = -1 };

struct reading {
    const char *text;
    int64_t amount; /* REFUSED: it cannot be read */
};

typedef int (*parse_fn)(const char *text, int64_t *amount, struct err *e);

static void check_readings(parse_fn parse, const struct reading *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct err e = { 0 };
        int64_t amount = REFUSED;
        int result = parse(cases[i].text, &amount, &e);

        if (amount != cases[i].amount || result != (amount == REFUSED ? -1 : 0))
            fail_msg("\"%s\" was read as %lld", cases[i].text, (long long)amount);
        if (amount == REFUSED && (e.kind != ERR_USAGE || strstr(e.text, cases[i].text) == NULL))
            fail_msg("\"%s\": %s", cases[i].text, e.text);
    }
}

static void sizes_are_read_as_people_write_them(void **state)
{
    static const struct reading cases[] = {
        { "0", 0 },
        { "4096", 4096 },
        { "17B", 17 },
        { "500M", 500000000 },
        { "500MB", 500000000 },
        { "2k", 2000 },
        { "2K", 2000 },
        { "1KiB", 1024 },
        { "1Ki", 1024 },
        { "2GiB", INT64_C(2) << 30 },
        { "2 GiB", INT64_C(2) << 30 },
        { "2gib", INT64_C(2) << 30 },
        { "1.5TiB", INT64_C(3) << 39 },
        { ".5k", 500 },
        { "0.1GiB", 107374182 },
        { "1.000000001G", 1000000001 },
        { "3EiB", INT64_C(3) << 60 },
        { "4611686018427387903", (INT64_C(1) << 62) - 1 },
    };

    (void)state;
    check_readings(units_parse_size, cases, LENGTH(cases));
}

static void what_is_no_size_is_refused(void **state)
{
    static const struct reading cases[] = {
        { "", REFUSED },
        { "GiB", REFUSED },
        { "-1", REFUSED },
        { "+1", REFUSED },
        { "1.5", REFUSED },
        { "1.GiB", REFUSED },
        { ".", REFUSED },
        { "2GiBs", REFUSED },
        { "2X", REFUSED },
        { "2i", REFUSED },
        { "2iB", REFUSED },
        { "2GM", REFUSED },
        { "1e3", REFUSED },
        { "0x10", REFUSED },
        { " 1", REFUSED },
        { "1 ", 1 },
        { "1,5G", REFUSED },
        { "nan", REFUSED },
        { "4EiB", REFUSED },
        { "5EiB", REFUSED },
        { "9999999999999999999", REFUSED },
        { "99999999P", REFUSED },
        { "4611686018427387904", REFUSED },
        { "1.0000000001G", REFUSED },
    };

    (void)state;
    check_readings(units_parse_size, cases, LENGTH(cases));
}

static void durations_are_read_as_people_and_slurm_write_them(void **state)
{
    static const struct reading cases[] = {
        { "0", 0 },
        { "0.5s", 500 },
        { "60s", 60000 },
        { "500ms", 500 },
        { "10min", 600000 },
        { "10m", 600000 },
        { "1.5h", 5400000 },
        { "2H", 7200000 },
        { "1d", 86400000 },
        { "1w", 604800000 },
        { "1h30m", 5400000 },
        { "1 h 05 min", 3900000 },
        { "1d12h", 129600000 },
        { "01:30:00", 5400000 },
        { "100:00:01", 360001000 },
        { "2-12:00:00", 216000000 },
        { "1-6", 108000000 },
        { "1-6:30", 109800000 },
    };

    (void)state;
    check_readings(units_parse_duration, cases, LENGTH(cases));
}

static void what_is_no_duration_is_refused(void **state)
{
    static const struct reading cases[] = {
        { "", REFUSED },
        { "h", REFUSED },
        { "-5s", REFUSED },
        { "5x", REFUSED },
        { "1h30", REFUSED },
        { "30m1h", REFUSED },
        { "1h1h", REFUSED },
        { "0.5ms", REFUSED },
        { "1:30", REFUSED },
        { "30:00", REFUSED },
        { "90", REFUSED }, /* seconds? minutes? */
        { "0.5", REFUSED },
        { "00:60:00", REFUSED },
        { "00:00:60", REFUSED },
        { "1:00:00:00", REFUSED },
        { "1-", REFUSED },
        { "-1:00:00", REFUSED },
        { "1-2-3", REFUSED },
        { "1::2", REFUSED },
        { "01:00:00s", REFUSED },
        { "1.5:00:00", REFUSED },
        { "inf", REFUSED },
        { "9999999999-00:00:00", REFUSED },
        { "9999999999999999w", REFUSED },
    };

    (void)state;
    check_readings(units_parse_duration, cases, LENGTH(cases));
}

static void fractions_are_read_to_the_thousandth(void **state)
{
    static const struct reading cases[] = {
        { "0", 0 },
        { "1", 1000 },
        { "0.5", 500 },
        { "2.125", 2125 },
        { ".25", 250 },
        { "1.5000", 1500 },
        { "", REFUSED },
        { "-1", REFUSED },
        { "1.", REFUSED },
        { "1x", REFUSED },
        { "0.0005", REFUSED },
        { "1e3", REFUSED },
        { "9999999999999999999", REFUSED },
    };

    (void)state;
    check_readings(units_parse_milli, cases, LENGTH(cases));
}

static void a_failed_reading_leaves_the_amount_alone(void **state)
{
    int64_t amount = 42;

    (void)state;
    assert_int_equal(units_parse_size("99P99", &amount, NULL), -1);
    assert_int_equal(units_parse_duration("1h99x", &amount, NULL), -1);
    assert_int_equal(units_parse_milli("0.12345", &amount, NULL), -1);
    assert_int_equal(amount, 42);
}

struct writing {
    int64_t amount;
    const char *text;
};

static void check_writings(void (*add)(struct buf *, int64_t), const struct writing *cases,
                           size_t n)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < n; i++) {
        buf_clear(&b);
        add(&b, cases[i].amount);
        assert_string_equal(buf_text(&b), cases[i].text);
    }
    buf_free(&b);
}

static void sizes_are_written_with_at_most_one_decimal(void **state)
{
    static const struct writing cases[] = {
        { 0, "0 B" },
        { 1023, "1023 B" },
        { 1024, "1 KiB" },
        { 1536, "1.5 KiB" },
        { 1048575, "1 MiB" },
        { INT64_C(3) << 29, "1.5 GiB" },
        { INT64_C(200) << 30, "200 GiB" },
        { INT64_C(3) << 39, "1.5 TiB" },
        { INT64_MAX, "8 EiB" },
        { -2048, "-2 KiB" },
        { INT64_MIN, "-8 EiB" },
    };

    (void)state;
    check_writings(units_add_size, cases, LENGTH(cases));
}

static void durations_are_written_in_their_two_largest_units(void **state)
{
    static const struct writing cases[] = {
        { 0, "0 ms" },
        { 350, "350 ms" },
        { 12999, "12 s" },
        { 60000, "1 min" },
        { 63000, "1 min 03 s" },
        { 3600000, "1 h" },
        { 3900000, "1 h 05 min" },
        { 86399999, "23 h 59 min" },
        { 86400000, "1 d" },
        { 97200000, "1 d 03 h" },
        { -350, "-350 ms" },
        { INT64_MIN, "-106751991167 d 07 h" },
    };

    (void)state;
    check_writings(units_add_duration, cases, LENGTH(cases));
}

static void thousandths_are_written_without_needless_zeros(void **state)
{
    static const struct writing cases[] = {
        { 0, "0" },       { 2000, "2" },  { 1500, "1.5" },  { 2125, "2.125" },
        { 1050, "1.05" }, { 1, "0.001" }, { -500, "-0.5" },
    };

    (void)state;
    check_writings(units_add_milli, cases, LENGTH(cases));
}

static void moments_are_written_in_utc(void **state)
{
    static const struct writing cases[] = {
        { 0, "1970-01-01T00:00:00Z" },
        { INT64_C(1795256100999), "2026-11-21T10:15:00Z" },
        { -1, "1969-12-31T23:59:59Z" },
        { INT64_MAX, "9223372036854775807" },
    };

    (void)state;
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    check_writings(units_add_time_utc, cases, LENGTH(cases) - 1);
}

static void moments_are_written_in_local_time(void **state)
{
    static const struct writing cases[] = { { INT64_C(1795256100999), "2026-11-21 19:15:00" } };

    (void)state;
    setenv("TZ", "JST-9", 1);
    tzset();
    check_writings(units_add_time_local, cases, LENGTH(cases));
}

static void the_clocks_tell_milliseconds_that_go_on(void **state)
{
    time_t before = time(NULL);
    int64_t now = units_now_ms(), ticks = units_monotonic_ms();
    struct timespec pause = { .tv_nsec = 3 * 1000 * 1000 };

    (void)state;
    /* time(2) may be a few milliseconds behind. */
    assert_in_range(now / 1000, before, time(NULL) + 1);
    assert_int_equal(nanosleep(&pause, NULL), 0);
    assert_true(units_monotonic_ms() > ticks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_as_people_write_them),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(durations_are_read_as_people_and_slurm_write_them),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(fractions_are_read_to_the_thousandth),
        cmocka_unit_test(a_failed_reading_leaves_the_amount_alone),
        cmocka_unit_test(sizes_are_written_with_at_most_one_decimal),
        cmocka_unit_test(durations_are_written_in_their_two_largest_units),
        cmocka_unit_test(thousandths_are_written_without_needless_zeros),
        cmocka_unit_test(moments_are_written_in_utc),
        cmocka_unit_test(moments_are_written_in_local_time),
        cmocka_unit_test(the_clocks_tell_milliseconds_that_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

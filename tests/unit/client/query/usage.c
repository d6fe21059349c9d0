/* SPDX-License-Identifier: MIT */
/* usage.c - tests of sums by user, of --since, and of CSV */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/query/usage.h"
#include "client/term/csv.h"

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;
static const int64_t NOW_MS = INT64_C(1795255200000); /* 2026-11-21T10:00:00Z */

static void a_time_is_counted_back_or_is_a_date(void **state)
{
    static const struct {
        const char *text;
        int64_t back_ms; /* before NOW_MS */
    } cases[] = {
        { "7d", 7 * DAY_MS },
        { "12h", DAY_MS / 2 },
        { "90min", 90 * 60 * 1000 },
        { "2026-11-20", DAY_MS + DAY_MS / 2 }, /* midnight, two hours before UTC's */
        { "2026-11-21 12:00", 0 },
        { "2026-11-21T11:30:00", 30 * 60 * 1000 },
        { "2026-11-21T09:30:00Z", 30 * 60 * 1000 },
        { "99999d", NOW_MS }, /* before 1970 */
    };

    (void)state;
    setenv("TZ", "EET-2", 1);
    tzset();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t since_ms = -1;
        struct err e = { 0 };

        if (usage_parse_since(cases[i].text, NOW_MS, &since_ms, &e) < 0)
            fail_msg("%s", e.text);
        assert_int_equal(since_ms, NOW_MS - cases[i].back_ms);
    }
}

static void what_is_neither_is_refused(void **state)
{
    static const char *const cases[] = {
        "",    "yesterday", "2026-02-30", "2026-11-21x", "2026-13-01",
        "-7d", "7 weeks",   "2026-11",    "1900-01-01",  "2026-11-21T09:30:00+01:00"
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t since_ms;
        struct err e = { 0 };

        if (usage_parse_since(cases[i], NOW_MS, &since_ms, &e) == 0)
            fail_msg("'%s' was taken for %lld", cases[i], (long long)since_ms);
        assert_int_equal(e.kind, ERR_USAGE);
    }
}

static void sweeps_are_added_up_by_user_and_in_all(void **state)
{
    static const struct usage_info rows[] = {
        { .sweep = 3, .user = "bob", .attempts = 2, .hours = 1, .cpu_hours = 1, .gpu_hours = 4 },
        { .sweep = 2, .user = "alice", .attempts = 1, .hours = 2, .cpu_hours = 8 },
        { .sweep = 1, .user = "bob", .attempts = 1, .cpu_hours = 2, .busy_cpu_hours = 0.5 },
        { .sweep = 4, .user = NULL },
    };
    struct arena *a = arena_create();
    struct usage_sums s = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        usage_add(&s, &rows[i], a);
    usage_sort(&s);
    assert_int_equal(s.n, 3);
    assert_string_equal(s.users[0].user, "alice");
    assert_true(s.users[0].cpu_hours == 8);
    assert_string_equal(s.users[1].user, "bob");
    assert_int_equal(s.users[1].sweeps, 2);
    assert_int_equal(s.users[1].attempts, 3);
    assert_true(s.users[1].cpu_hours == 3 && s.users[1].gpu_hours == 4);
    assert_true(s.users[1].busy_cpu_hours == 0.5);
    assert_string_equal(s.users[2].user, "");
    assert_int_equal(s.total.sweeps, 4);
    assert_true(s.total.cpu_hours == 11 && s.total.hours == 3);
    usage_free(&s);
    arena_destroy(a);
}

static void what_was_not_used_is_listed_the_worst_first(void **state)
{
    static const struct usage_info rows[] = {
        /* half of it runs still */
        { .sweep = 3,
          .user = "bob",
          .hours = 2,
          .cpu_hours = 8,
          .ended_hours = 1,
          .busy_cpu_hours = 1,
          .max_rss_bytes = 5 },
        /* 6 of 8 GiB-hours count as 1.5 CPU-hours */
        { .sweep = 2,
          .user = "alice",
          .attempts = 1,
          .hours = 1,
          .cpu_hours = 1,
          .ended_hours = 1,
          .busy_cpu_hours = 1,
          .memory_gib_hours = 8,
          .used_memory_gib_hours = 2,
          .limit_hours = 4,
          .max_rss_bytes = 7 },
        /* more threads than processors, and no limits */
        { .sweep = 1,
          .user = "alice",
          .attempts = 2,
          .hours = 1,
          .cpu_hours = 1,
          .ended_hours = 1,
          .busy_cpu_hours = 3,
          .used_memory_gib_hours = 2,
          .max_rss_bytes = 9 },
    };
    struct arena *a = arena_create();

    (void)state;
    for (int by_sweep = 0; by_sweep < 2; by_sweep++) {
        struct usage_wastes w = { 0 };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            usage_waste_add(&w, &rows[i], by_sweep == 1, a);
        usage_waste_sort(&w);
        assert_int_equal(w.n, 2); /* sweep 1 has wasted nothing */
        assert_string_equal(w.rows[0].user, "bob");
        assert_true(w.rows[0].cpu_hours == 4 && w.rows[0].unused_cpu_hours == 3);
        assert_true(w.rows[0].waste == 3);
        assert_string_equal(w.rows[1].user, "alice");
        assert_int_equal(w.rows[1].sweeps, by_sweep == 1 ? 1 : 2);
        assert_true(w.rows[1].sweep == (by_sweep == 1 ? 2 : SCHEMA_NONE));
        assert_int_equal(w.rows[1].max_rss_bytes, by_sweep == 1 ? 7 : 9);
        assert_true(w.rows[1].memory_gib_hours == 8 && w.rows[1].unused_memory_gib_hours == 6);
        assert_true(w.rows[1].limit_hours == 4 && w.rows[1].unused_limit_hours == 3);
        assert_true(w.rows[1].waste == 1.5);
        usage_waste_free(&w);
    }
    arena_destroy(a);
}

static void fields_of_csv_are_quoted_as_rfc_4180_has_it(void **state)
{
    static const struct {
        const char *text, *field;
    } cases[] = {
        { "plain", "plain" },     { "", "" },
        { "a,b", "\"a,b\"" },     { "say \"x\"", "\"say \"\"x\"\"\"" },
        { "a\nb", "\"a\nb\"" },   { "a\rb", "\"a\rb\"" },
        { " blank ", " blank " }, { "ü;\t'", "ü;\t'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        csv_add(&out, cases[i].text);
        assert_string_equal(buf_text(&out), cases[i].field);
        buf_free(&out);
    }
}

static void columns_of_csv_have_names_of_their_own(void **state)
{
    struct value text = value_str("a,b"), number = value_float(0.1);
    struct buf out = { 0 };

    (void)state;
    csv_add(&out, "param_name");
    csv_next_param(&out, "lr");
    csv_next_param(&out, "n");
    csv_next_param(&out, "step");
    csv_next_number(&out, 1.5);
    csv_next_number(&out, (double)NAN);
    csv_next_value(&out, &text);
    csv_next_value(&out, &number);
    csv_next_value(&out, NULL);
    assert_string_equal(buf_text(&out), "param_name,lr,params.n,params.step,1.5,,\"a,b\",0.1,");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_counted_back_or_is_a_date),
        cmocka_unit_test(what_is_neither_is_refused),
        cmocka_unit_test(sweeps_are_added_up_by_user_and_in_all),
        cmocka_unit_test(what_was_not_used_is_listed_the_worst_first),
        cmocka_unit_test(fields_of_csv_are_quoted_as_rfc_4180_has_it),
        cmocka_unit_test(columns_of_csv_have_names_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* client_selector.c - tests of the words for sweeps and jobs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/selector.h"

static void sweeps_and_jobs_are_named_by_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t sweep, first, last;
    } cases[] = {
        { "7", 7, 0, 0 },        { "7.13", 7, 13, 13 },
        { "7.1-40", 7, 1, 40 },  { "7.5-5", 7, 5, 5 },
        { "last", 0, 0, 0 },     { "last.3", 0, 3, 3 },
        { "last.3-9", 0, 3, 9 }, { "9007199254740992", 9007199254740992, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct target t;

        assert_int_equal(selector_parse(cases[i].text, &t, NULL), 0);
        assert_int_equal(t.sweep, cases[i].sweep);
        assert_int_equal(t.first, cases[i].first);
        assert_int_equal(t.last, cases[i].last);
    }
}

static void anything_else_is_refused(void **state)
{
    static const char *const cases[] = { "",
                                         "0",
                                         "07",
                                         "-1",
                                         "7.",
                                         "7.0",
                                         ".1",
                                         "7.1-",
                                         "7.9-1",
                                         "7..1",
                                         "7.1.2",
                                         "7 ",
                                         "x",
                                         "lastx",
                                         "last.",
                                         "7,8",
                                         "1e3",
                                         "7.1-0",
                                         "7.1--2",
                                         "9007199254740993",
                                         "99999999999999999999999999" };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = { 0 };
        struct target t;

        assert_int_equal(selector_parse(cases[i], &t, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_non_null(strstr(e.text, "names no sweep or job"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_and_jobs_are_named_by_numbers),
        cmocka_unit_test(anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

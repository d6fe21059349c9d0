/* SPDX-License-Identifier: MIT */
/* pages.c - tests of walks over a server's pages, which have to end */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/query/pages.h"

static void pages_have_to_lead_further(void **state)
{
    static const struct {
        int64_t at, next;
        bool goes_on;
    } steps[] = {
        { 0, 1, true },          { 0, 500, true },  { 500, 501, true },
        { INT64_MIN, -7, true }, { -7, -6, true },  { 500, 500, false },
        { 500, 499, false },     { -7, -7, false }, { -7, -8, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct pages_walk walk = { .at = steps[i].at };
        struct err e = { 0 };

        assert_int_equal(pages_go_on(&walk, steps[i].next, &e), steps[i].goes_on ? 0 : -1);
        assert_int_equal(e.kind, steps[i].goes_on ? ERR_NONE : ERR_PROTOCOL);
    }
}

static void pages_have_to_end(void **state)
{
    struct pages_walk walk = { .at = 0 };
    struct err e = { 0 };
    int64_t n = 0;

    (void)state;
    while (n < 10 * 1000 * 1000 && pages_go_on(&walk, n + 1, &e) == 0)
        n++;
    assert_in_range(n, 500 * 1000, 2 * 1000 * 1000);
    assert_int_equal(e.kind, ERR_PROTOCOL);
    assert_non_null(strstr(e.text, "do not end"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_to_lead_further),
        cmocka_unit_test(pages_have_to_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

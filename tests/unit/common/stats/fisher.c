/* SPDX-License-Identifier: MIT */
/* fisher.c - tests of Fisher's exact test */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "common/stats/fisher.h"

static void probabilities_are_those_of_tables_that_can_be_counted(void **state)
{
    static const struct {
        int64_t a, b, c, d;
        double p;
    } cases[] = {
        /* the lady tasting tea: all four, and three of four */
        { 4, 0, 0, 4, 1.0 / 70 },
        { 3, 1, 1, 3, 17.0 / 70 },
        /* three of three, none of m others: 1 of C(m + 3, 3) */
        { 3, 0, 0, 3, 1.0 / 20 },
        { 3, 0, 0, 10, 1.0 / 286 },
        { 3, 0, 2, 5, 10.0 / 120 },
        /* Fisher's twins of convicts: 10 of 13 and 2 of 17 */
        { 10, 3, 2, 15, 0.000465181 },
        { 0, 5, 5, 0, 1 },
        { 0, 0, 0, 0, 1 },
        { 2, 0, 3, 0, 1 },
        { 0, 3, 0, 3, 1 },
        { 1, 3, 3, 1, 69.0 / 70 },
        { 2, 2, 2, 2, 53.0 / 70 },
        { 41, 3, 0, 180, 9.58634e-42 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double p = fisher_more(cases[i].a, cases[i].b, cases[i].c, cases[i].d);

        if (fabs(p - cases[i].p) > 1e-4 * cases[i].p)
            fail_msg("%lld %lld %lld %lld: %.9g", (long long)cases[i].a, (long long)cases[i].b,
                     (long long)cases[i].c, (long long)cases[i].d, p);
    }
}

static void large_tables_take_no_longer_and_stay_probabilities(void **state)
{
    double p = fisher_more(500000, 500000, 500000, 500000);

    (void)state;
    assert_true(p > 0.5 && p < 0.501);
    p = fisher_more(300100, 700000, 299900, 700000);
    assert_true(p > 0.1 && p < 0.5);
    assert_true(fisher_more(1000000, 0, 0, 1000000) < 1e-300);
    assert_true(fisher_more(1, 1000000, 1000000, 1) >= 1);
}

static void many_tests_make_chance_likelier(void **state)
{
    (void)state;
    assert_true(fabs(fisher_of_many(0.01, 20) - 0.2) < 1e-12);
    assert_true(fisher_of_many(0.2, 20) >= 1 && fisher_of_many(0.2, 20) <= 1);
    assert_true(fabs(fisher_of_many(0.2, 0) - 0.2) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_those_of_tables_that_can_be_counted),
        cmocka_unit_test(large_tables_take_no_longer_and_stay_probabilities),
        cmocka_unit_test(many_tests_make_chance_likelier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

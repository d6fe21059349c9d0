/* SPDX-License-Identifier: MIT */
/* student.c - tests of Student's distribution */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "common/stats/student.h"

static void probabilities_are_those_of_the_printed_tables(void **state)
{
    static const struct {
        double t, df, p;
    } cases[] = {
        /* df 1: 1/2 - atan(t) / pi; df 2: (1 - t / sqrt(2 + t^2)) / 2 */
        { 0, 1, 0.5 },
        { 1, 1, 0.25 },
        { 1000, 1, 0.000318309780 },
        { 2.919985580, 2, 0.05 },
        { 6.964556734, 2, 0.01 },
        { 2.015048373, 5, 0.05 },
        { 3.364929998, 5, 0.01 },
        { 1.812461123, 10, 0.05 },
        { 4.143700494, 10, 0.001 },
        { 1.645, 1e9, 0.0499849 },
        { -1.812461123, 10, 0.95 },
        { 3.0902323, 1e9, 0.001 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double p = student_more(cases[i].t, cases[i].df);

        if (!(fabs(p - cases[i].p) <= 1e-5 * cases[i].p))
            fail_msg("%g %g: %.9g, not %.9g", cases[i].t, cases[i].df, p, cases[i].p);
    }
}

static void a_limit_is_where_the_probability_is(void **state)
{
    (void)state;
    for (double df = 1; df < 2000; df *= 3)
        for (double p = 0.5; p > 1e-6; p /= 3)
            assert_true(fabs(student_more(student_limit(p, df), df) - p) < 1e-9);
    assert_true(fabs(student_limit(0.01, 5) - 3.364929998) < 1e-6);
}

static void what_is_far_out_stays_a_probability(void **state)
{
    (void)state;
    assert_true(student_more(1e6, 100) >= 0 && student_more(1e6, 100) < 1e-100);
    assert_true(student_more((double)INFINITY, 3) == 0);
    assert_true(student_more(-(double)INFINITY, 3) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_those_of_the_printed_tables),
        cmocka_unit_test(a_limit_is_where_the_probability_is),
        cmocka_unit_test(what_is_far_out_stays_a_probability),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

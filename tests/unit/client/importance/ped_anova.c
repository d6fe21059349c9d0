/* SPDX-License-Identifier: MIT */
/* ped_anova.c - tests of the Pearson divergences of the best configurations from all */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "client/importance/ped_anova.h"

enum { CELLS_MAX = 50 };

static void assert_near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-9 * fabs(wanted) + 1e-12)
        fail_msg("%.15g is not %.15g", got, wanted);
}

/* The wanted numbers are those that the formulas of Optuna 4.0 give with numpy. */
static void divergences_are_those_of_optuna(void **state)
{
    static const struct {
        size_t n;
        bool is_ordered;
        size_t all[CELLS_MAX], top[CELLS_MAX];
        double wanted;
    } cases[] = {
        { 3, false, { 4, 4, 4 }, { 0, 3, 2 }, 0.09722222222193057 },
        { 2, false, { 6, 6 }, { 1, 4 }, 0.08999999999982004 },
        { 5, false, { 10, 7, 3, 1, 9 }, { 0, 0, 3, 0, 0 }, 0.4600700838043176 },
        { 5, true, { 2, 2, 2, 2, 4 }, { 0, 0, 1, 1, 1 }, 0.11625485668479853 },
        { 4, true, { 1, 0, 0, 3 }, { 0, 0, 0, 2 }, 0.5893594950130281 },
        { 50,
          true,
          { 3, 6, 2, 5, 3, 3, 3, 4, 3, 2, 5, 0, 4, 7, 4, 5, 2, 3, 4, 3, 3, 6, 6, 6, 4,
            6, 2, 5, 2, 3, 3, 4, 3, 5, 3, 2, 3, 8, 6, 3, 5, 9, 4, 7, 5, 4, 1, 3, 5, 3 },
          { 0, 2, 0, 1, 3, 1, 1, 1, 0, 0, 3, 0, 0, 1, 1, 2, 1, 1, 0, 2, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          1.3208677540165386 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ped_counts counts = { cases[i].all, cases[i].top, cases[i].n,
                                           cases[i].is_ordered };

        assert_near(ped_divergence(&counts), cases[i].wanted);
    }
}

static void what_is_alike_has_no_divergence(void **state)
{
    static const size_t all[] = { 8, 4, 4, 8 }, one[] = { 9 };

    (void)state;
    assert_near(ped_divergence(&(struct ped_counts){ all, all, 4, false }), 0);
    assert_near(ped_divergence(&(struct ped_counts){ all, all, 4, true }), 0);
    assert_near(ped_divergence(&(struct ped_counts){ one, one, 1, true }), 0);
}

/* Each value of one parameter is among the best as often as the others; only together they decide. */
static void two_parameters_that_decide_together_interact(void **state)
{
    static const size_t all[] = { 50, 50, 50, 50 }, top[] = { 20, 0, 0, 20 };
    const struct ped_interaction found =
        ped_interaction(&(struct ped_counts){ all, top, 4, false }, 2, 2);

    (void)state;
    assert_true(found.is_certain);
    /* 1 is what the cells say; 1 degree of freedom, 40 of 200 */
    assert_near(found.divergence, 1 - (1. / 40) * (1 - 40. / 200));
}

static void what_chance_does_is_no_interaction(void **state)
{
    static const size_t all[] = { 50, 50, 50, 50 }, top[] = { 11, 9, 9, 11 };
    /* One parameter decides alone. */
    static const size_t alone[] = { 20, 20, 0, 0 }, empty[] = { 0, 0, 0, 0 };

    (void)state;
    assert_false(ped_interaction(&(struct ped_counts){ all, top, 4, false }, 2, 2).is_certain);
    assert_false(ped_interaction(&(struct ped_counts){ all, alone, 4, false }, 2, 2).is_certain);
    assert_false(ped_interaction(&(struct ped_counts){ all, empty, 4, false }, 2, 2).is_certain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergences_are_those_of_optuna),
        cmocka_unit_test(what_is_alike_has_no_divergence),
        cmocka_unit_test(two_parameters_that_decide_together_interact),
        cmocka_unit_test(what_chance_does_is_no_interaction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* goal.c - tests of whether much or little of a measure is good */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/proto/goal.h"

static void the_goal_follows_from_the_name_or_is_not_known(void **state)
{
    static const struct {
        const char *metric;
        enum goal goal;
    } cases[] = {
        { "accuracy", GOAL_MAX },
        { "f1", GOAL_MAX },
        { "eval/f1_macro", GOAL_MAX },
        { "val_loss", GOAL_MIN },
        { "Loss", GOAL_MIN },
        { "valLoss", GOAL_MIN },
        { "perplexity", GOAL_MIN },
        { "test_error", GOAL_MIN },
        { "RMSE", GOAL_MIN },
        { "val_mse", GOAL_MIN },
        { "bits_per_character", GOAL_MIN },
        { "reward", GOAL_MAX },
        { "train_time", GOAL_MIN },
        { "acc@1", GOAL_MAX },
        { "val.acc", GOAL_MAX },
        { "log_likelihood", GOAL_MAX },
        { "negative_log_likelihood", GOAL_MIN },
        /* sklearn's is large when it is good. */
        { "neg_mean_squared_error", GOAL_COUNT },
        { "loss_reduction", GOAL_COUNT },
        { "accuracy_loss", GOAL_COUNT },
        { "n_incorrect", GOAL_COUNT },
        { "inaccuracy", GOAL_COUNT },
        { "sometimes", GOAL_COUNT },
        { "merry", GOAL_COUNT },
        { "glossy", GOAL_COUNT },
        { "x", GOAL_COUNT },
        { "größe", GOAL_COUNT },
        { "", GOAL_COUNT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (goal_guess(cases[i].metric) != cases[i].goal)
            fail_msg("%s", cases[i].metric);
}

static void a_goal_is_said_in_several_ways(void **state)
{
    (void)state;
    for (int i = 0; i < GOAL_COUNT; i++)
        assert_int_equal(goal_parse(goal_names[i]), i);
    assert_int_equal(goal_parse("maximize"), GOAL_MAX);
    assert_int_equal(goal_parse("minimize"), GOAL_MIN);
    assert_int_equal(goal_parse("Minimise"), GOAL_MIN);
    assert_int_equal(goal_parse("best"), GOAL_COUNT);
    assert_int_equal(goal_parse(""), GOAL_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_goal_follows_from_the_name_or_is_not_known),
        cmocka_unit_test(a_goal_is_said_in_several_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

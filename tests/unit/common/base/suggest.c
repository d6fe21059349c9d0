/* SPDX-License-Identifier: MIT */
/* suggest.c - did you mean */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/base/suggest.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void the_distance_counts_slips_of_the_finger(void **state)
{
    static const struct {
        const char *x, *y;
        size_t distance;
    } cases[] = {
        { "", "", 0 },
        { "abc", "", 3 },
        { "params", "params", 0 },
        { "parms", "params", 1 },
        { "paramss", "params", 1 },
        { "pirams", "params", 1 },
        { "praams", "params", 1 },
        { "kitten", "sitting", 3 },
        { "ca", "abc", 3 },
        { "ab", "ba", 1 },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        assert_int_equal(suggest_distance(cases[i].x, cases[i].y), cases[i].distance);
        assert_int_equal(suggest_distance(cases[i].y, cases[i].x), cases[i].distance);
    }
}

static const char *nearest(const char *word)
{
    static const char *const keys[] = { "params",  "command", "resources", "reps",
                                        "results", "retry",   "env",       "zip" };
    struct suggest s = { .word = word };

    for (size_t i = 0; i < LENGTH(keys); i++)
        suggest_try(&s, keys[i]);
    return s.best;
}

static void the_nearest_word_is_suggested(void **state)
{
    (void)state;
    assert_string_equal(nearest("parmas"), "params");
    assert_string_equal(nearest("resorces"), "resources");
    assert_string_equal(nearest("result"), "results");
    assert_string_equal(nearest("rep"), "reps");
    assert_string_equal(nearest("comand"), "command");
    assert_string_equal(nearest("zpi"), "zip");
    /* The beginning of a word is it, unless another is nearer. */
    assert_string_equal(nearest("com"), "command");
    assert_string_equal(nearest("par"), "params");
    assert_string_equal(nearest("retr"), "retry");
    assert_string_equal(nearest("rep"), "reps");
    assert_null(nearest("co"));
}

static void what_is_far_from_all_words_is_not_guessed(void **state)
{
    static char long_word[100000];

    (void)state;
    for (size_t i = 0; i < sizeof long_word - 1; i++)
        long_word[i] = 'r';
    assert_null(nearest("optimizer"));
    assert_null(nearest("x"));
    assert_null(nearest("exps"));
    assert_null(nearest(""));
    assert_null(nearest(long_word));
}

static void a_word_of_one_letter_is_never_another(void **state)
{
    struct suggest s = { .word = "a" };

    (void)state;
    suggest_try(&s, "b");
    assert_null(s.best);
    suggest_try(&s, "a");
    assert_string_equal(s.best, "a");
    assert_int_equal(s.distance, 0);
}

static void two_long_words_are_not_compared(void **state)
{
    static char x[300], y[300];
    struct suggest s = { .word = x };

    (void)state;
    for (size_t i = 0; i < 257; i++)
        x[i] = y[i] = 'x';
    suggest_try(&s, y);
    assert_null(s.best);
    x[256] = y[256] = '\0';
    suggest_try(&s, y);
    assert_ptr_equal(s.best, y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_distance_counts_slips_of_the_finger),
        cmocka_unit_test(the_nearest_word_is_suggested),
        cmocka_unit_test(what_is_far_from_all_words_is_not_guessed),
        cmocka_unit_test(a_word_of_one_letter_is_never_another),
        cmocka_unit_test(two_long_words_are_not_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

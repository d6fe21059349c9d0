/* SPDX-License-Identifier: MIT */
/* param_words.c - tests of values that YAML reads in another way than they look */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "client/spec/param_words.h"

struct words {
    const char *yaml, *said; /* NULL: nothing */
};

static void check(const struct words *cases, size_t n,
                  const char *(*say)(const struct yaml_node *node, struct arena *a))
{
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        const struct yaml_node *node = yaml_parse("f", cases[i].yaml, strlen(cases[i].yaml), a, &e);
        const char *said = node == NULL ? e.text : say(node, a);

        if ((said == NULL) != (cases[i].said == NULL) ||
            (said != NULL && strcmp(said, cases[i].said) != 0))
            fail_msg("%s: %s", cases[i].yaml, said != NULL ? said : "nothing");
        arena_destroy(a);
    }
}

static void numbers_that_may_be_text_are_noted(void **state)
{
    static const struct words cases[] = {
        { "[680841e1, 695e051, abc, 007, 1.10]",
          "680841e1 is taken for the number 6808410.0, and so are 3 more; '680841e1' in quotes stays "
          "text" },
        { "007", "007 is taken for the number 7; '007' in quotes stays text" },
        { "[3.9, 3.10]", "3.10 is taken for the number 3.1; '3.10' in quotes stays text" },
        { "{values: [0123456]}",
          "0123456 is taken for the number 123456; '0123456' in quotes stays text" },
        { "[1e-3, 1e5, 0.10, 0.001, 1.0, 2., .5, 100, 0, -1, 1.5e-05, 10e3, +3, 0e0]", NULL },
        { "['007', \"1.10\", '695e051', no, 2024-01-01]", NULL },
    };

    (void)state;
    check(cases, sizeof cases / sizeof cases[0], param_words_note);
}

static void text_that_may_be_a_list_is_noted(void **state)
{
    static const struct words cases[] = {
        { "0.1,0.01", "'0.1,0.01' is one text; a list is written [0.1,0.01]" },
        { "choice(16, 32)", "'choice(16, 32)' is one text; a list is written [16, 32]" },
        { "a, b", NULL },
        { "[x, 'y,z']", NULL },
        { "1.5", NULL },
        { "f(x)", NULL },
    };

    (void)state;
    check(cases, sizeof cases / sizeof cases[0], param_words_note);
}

static void forms_of_other_tools_are_told_in_ours(void **state)
{
    static const struct words cases[] = {
        { "{min: 0.1, max: 1}", "{uniform: [0.1, 1]}" },
        { "{min: 1, max: 8}", "{int_uniform: [1, 8]}" },
        { "{distribution: log_uniform_values, min: 1e-4, max: 0.1}", "{log_uniform: [1e-4, 0.1]}" },
        { "{type: loguniform, min: 1e-4, max: 0.1, seed: 3}", "{log_uniform: [1e-4, 0.1]}" },
        { "{type: range, min: 1, max: 9, step: 2}", "{range: [1, 9, 2]}" },
        { "{type: choice, options: [1, a]}", "{choice: [1,\"a\"]}" },
        { "{distribution: normal, mu: 0, sigma: 1}", "{normal: [0, 1]}" },
        { "{a: 1, b: 2}", NULL },
    };

    (void)state;
    check(cases, sizeof cases / sizeof cases[0], param_words_form);
}

static void a_value_that_is_not_there_is_found(void **state)
{
    static const struct {
        const char *yaml;
        bool is_empty;
    } cases[] = {
        { "#ff0000", true },          { "{a: #ff0000\n}", true }, { "[1, {b: }]", true },
        { "{lr:0.1}", true },         { "- 1\n-\n", true },       { "null", false },
        { "[~, '', \"#f\"]", false }, { "{a: 1}", false },        { "{}", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        const struct yaml_node *node = yaml_parse("f", cases[i].yaml, strlen(cases[i].yaml), a, &e);

        if (node == NULL || (param_words_empty(node) != NULL) != cases[i].is_empty)
            fail_msg("%s: %s", cases[i].yaml, node == NULL ? e.text : "found otherwise");
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_may_be_text_are_noted),
        cmocka_unit_test(text_that_may_be_a_list_is_noted),
        cmocka_unit_test(forms_of_other_tools_are_told_in_ours),
        cmocka_unit_test(a_value_that_is_not_there_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

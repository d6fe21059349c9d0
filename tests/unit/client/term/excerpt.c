/* SPDX-License-Identifier: MIT */
/* excerpt.c - tests of errors with the lines they are about */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/term/excerpt.h"
#include "common/base/mem.h"

static void lines_come_in_the_order_of_the_file(void **state)
{
    static const struct {
        const char *errors, *sorted;
    } cases[] = {
        { "", "" },
        { "f:1:1: a", "f:1:1: a" },
        { "f:10:1: a\nf:9:1: b", "f:9:1: b\nf:10:1: a" },
        { "f:1:10: a\nf:1:9: b\nf:1:9: a", "f:1:9: b\nf:1:9: a\nf:1:10: a" },
        { "--set lr: x\nf:2:1: a", "f:2:1: a\n--set lr: x" },
        { "g:1:1: other\nf:2:1: a", "f:2:1: a\ng:1:1: other" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf errors = { 0 };

        buf_add_str(&errors, cases[i].errors);
        excerpt_sort(&errors, "f");
        assert_string_equal(buf_text(&errors), cases[i].sorted);
        buf_free(&errors);
    }
}

static void each_place_is_shown(void **state)
{
    struct err e = { 0 };

    (void)state;
    err_set(&e, ERR_USAGE,
            "f:1:3: what\nf:2:2: else\nf:3:1: empty\n--set x: no place\nf:9:1: gone");
    excerpt_add(&e, "f", "abc\n\txyz\n\n");
    assert_string_equal(e.text, "f:1:3: what\n"
                                "    1 | abc\n"
                                "      |   ^\n"
                                "f:2:2: else\n"
                                "    2 | \txyz\n"
                                "      | \t^\n"
                                "f:3:1: empty\n"
                                "--set x: no place\n"
                                "f:9:1: gone");
    assert_int_equal(e.kind, ERR_USAGE);
}

static void what_a_terminal_would_obey_is_written_out(void **state)
{
    struct err e = { 0 };

    (void)state;
    err_set(&e, ERR_USAGE, "f:1:1: what");
    excerpt_add(&e, "f", "a\033[2J\n");
    assert_string_equal(e.text, "f:1:1: what\n    1 | a^[[2J\n      | ^");
}

/* All mistakes are told; lines are shown as long as there is room. */
static void no_mistake_is_lost_to_an_excerpt(void **state)
{
    struct buf errors = { 0 };
    struct err e = { 0 };
    size_t n_lines = 0, n_shown = 0;

    (void)state;
    for (int i = 1; i <= 40; i++)
        buf_printf(&errors, "%sf:%d:1: an error of some length, number %d", i > 1 ? "\n" : "", 1,
                   i);
    err_set(&e, ERR_USAGE, "%s", buf_text(&errors));
    assert_string_equal(e.text, buf_text(&errors));
    excerpt_add(&e, "f", "the line\n");
    for (const char *at = e.text; (at = strstr(at, "an error")) != NULL; at++)
        n_lines++;
    for (const char *at = e.text; (at = strstr(at, "| the line")) != NULL; at++)
        n_shown++;
    assert_int_equal(n_lines, 40);
    assert_true(n_shown > 0 && n_shown < 40);
    buf_free(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_in_the_order_of_the_file),
        cmocka_unit_test(each_place_is_shown),
        cmocka_unit_test(what_a_terminal_would_obey_is_written_out),
        cmocka_unit_test(no_mistake_is_lost_to_an_excerpt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

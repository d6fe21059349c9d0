/* SPDX-License-Identifier: MIT */
/* canvas.c - tests of dots, lines and text on the cells of a terminal */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "client/plot/canvas.h"

static const struct area whole = { 0, 0, 4, 2 };

static void assert_drawn(struct canvas *c, enum colours colours, const char *wanted)
{
    struct buf out = { 0 };

    canvas_add(&out, c, colours);
    assert_string_equal(buf_text(&out), wanted);
    buf_free(&out);
    canvas_destroy(c);
}

static void dots_are_where_they_should_be(void **state)
{
    struct canvas *c = canvas_create(4, 2, true);

    (void)state;
    canvas_dot(c, &whole, 0, 0, INK_PLAIN); /* left, at the bottom */
    canvas_dot(c, &whole, 1, 1, INK_PLAIN);
    canvas_dot(c, &whole, 1, 0.99, INK_PLAIN); /* the same one */
    assert_drawn(c, COLOURS_NONE, "   ⠈\n⡀\n");
    c = canvas_create(4, 2, false);
    canvas_dot(c, &whole, 0, 0, INK_PLAIN);
    canvas_dot(c, &whole, 1, 1, INK_PLAIN);
    canvas_dot(c, &whole, 1, 0.67, INK_PLAIN);
    assert_drawn(c, COLOURS_NONE, "   :\n.\n");
    c = canvas_create(4, 2, true);
    canvas_spot(c, &whole, 0, 1, INK_PLAIN);
    canvas_spot(c, &whole, 1, 0, INK_PLAIN);
    assert_drawn(c, COLOURS_NONE, "⠛\n   ⣤\n");
}

static void what_is_outside_or_no_number_is_left_out(void **state)
{
    static const double far[2] = { 0, 1e300 }, none[2] = { 1, (double)NAN }, left[2] = { 0, 0 };
    const struct area beyond = { 3, 1, 40, 40 };
    struct canvas *c = canvas_create(4, 2, true);

    (void)state;
    canvas_dot(c, &whole, 1.01, 0.5, INK_PLAIN);
    canvas_dot(c, &whole, 0.5, -0.01, INK_PLAIN);
    canvas_dot(c, &whole, (double)NAN, 0.5, INK_PLAIN);
    canvas_dot(c, &beyond, 1, 0, INK_PLAIN);
    canvas_line(c, &whole, left, none, INK_PLAIN);
    canvas_text(c, 9, 9, 10, INK_PLAIN, "x");
    assert_drawn(c, COLOURS_NONE, "\n\n");
    c = canvas_create(4, 2, true);
    canvas_line(c, &whole, left, far, INK_PLAIN);
    assert_drawn(c, COLOURS_NONE, "⡇\n⡇\n");
}

static void lines_have_no_gaps(void **state)
{
    static const double from[2] = { 0, 0 }, to[2] = { 1, 1 };
    struct canvas *c = canvas_create(4, 2, true);

    (void)state;
    canvas_line(c, &whole, from, to, INK_PLAIN);
    assert_drawn(c, COLOURS_NONE, "  ⡠⠊\n⡠⠊\n");
}

static void text_is_harmless_and_cut(void **state)
{
    struct canvas *c = canvas_create(8, 3, true);

    (void)state;
    canvas_text(c, 0, 0, 5, INK_PLAIN, "a\033[2Jbcdef");
    canvas_text_before(c, 8, 1, 4, INK_PLAIN, "äöü");
    canvas_text(c, 6, 2, 10, INK_PLAIN, "wide");
    assert_drawn(c, COLOURS_NONE, "a^[[2\n     äöü\n      wi\n");
}

static void colours_are_those_of_the_terminal(void **state)
{
    static const struct {
        enum colours colours;
        const char *wanted;
    } cases[] = {
        { COLOURS_NONE, "ab  ##\n" },
        { COLOURS_16, "\033[0;35ma\033[0;33mb  \033[0;2m##\033[0m\n" },
        { COLOURS_256, "\033[0;38;5;103ma\033[0;38;5;178mb" },
        { COLOURS_TRUE, "\033[0;38;2;122;110;160ma\033[0;38;2;205;170;0mb" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct canvas *c = canvas_create(6, 1, false);
        struct buf out = { 0 };

        canvas_text(c, 0, 0, 1, ink_of_rank(0), "a");
        canvas_text(c, 1, 0, 1, ink_of_rank(1), "b");
        canvas_bar(c, 4, 0, 2, ink_of_rank((double)NAN));
        canvas_add(&out, c, cases[i].colours);
        if (strncmp(buf_text(&out), cases[i].wanted, strlen(cases[i].wanted)) != 0)
            fail_msg("case %zu: %s", i, buf_text(&out));
        buf_free(&out);
        canvas_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots_are_where_they_should_be),
        cmocka_unit_test(what_is_outside_or_no_number_is_left_out),
        cmocka_unit_test(lines_have_no_gaps),
        cmocka_unit_test(text_is_harmless_and_cut),
        cmocka_unit_test(colours_are_those_of_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

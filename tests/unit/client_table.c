/* SPDX-License-Identifier: MIT */
/* client_table.c - tests of aligned columns, harmless text and the progress line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/progress.h"
#include "client/table.h"
#include "client/text.h"

static const struct column columns[] = { { "N", true, false },
                                         { "NAME", false, true },
                                         { "STATE", false, false } };

static void columns_are_aligned(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, false);
    struct buf out = { 0 };

    (void)state;
    table_printf(t, TONE_PLAIN, "%d", 7);
    table_add(t, TONE_PLAIN, "ünï");
    table_add(t, TONE_GOOD, "done");
    table_add(t, TONE_PLAIN, "1234");
    table_add(t, TONE_PLAIN, NULL);
    table_add(t, TONE_BAD, "failed");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "   N  NAME  STATE\n"
                                        "   7  ünï   done\n"
                                        "1234        failed\n");
    table_destroy(t);
    buf_free(&out);
}

static void later_parts_keep_the_widths_and_have_no_head(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, false);
    struct buf out = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        table_add(t, TONE_PLAIN, "1");
        table_add(t, TONE_PLAIN, i == 0 ? "longer name" : "x");
        table_add(t, TONE_PLAIN, "up");
        buf_clear(&out);
        table_flush(t, &out);
    }
    assert_string_equal(buf_text(&out), "1  x            up\n");
    assert_int_equal(table_rows(t), 0);
    table_destroy(t);
    buf_free(&out);
}

static void a_narrow_terminal_shrinks_what_may_shrink(void **state)
{
    struct table *t = table_create(columns, 3, 24, false);
    struct buf out = { 0 };

    (void)state;
    table_add(t, TONE_PLAIN, "1");
    table_add(t, TONE_PLAIN, "a name that is far too long");
    table_add(t, TONE_PLAIN, "done");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "N  NAME            STATE\n"
                                        "1  a name that i…  done\n");
    table_destroy(t);
    buf_free(&out);
}

static void colours_do_not_disturb_the_columns(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, true);
    struct buf out = { 0 };

    (void)state;
    table_add(t, TONE_GOOD, "1");
    table_add(t, TONE_PLAIN, "x");
    table_add(t, TONE_PLAIN, "y");
    table_flush(t, &out);
    assert_non_null(strstr(buf_text(&out), "\033[32m1\033[0m  x     y\n"));
    table_destroy(t);
    buf_free(&out);
}

static void a_cell_cannot_break_out(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, false);
    struct buf out = { 0 };

    (void)state;
    table_add(t, TONE_PLAIN, "1");
    table_add(t, TONE_PLAIN, "a\033[2Jb\nc\td");
    table_add(t, TONE_PLAIN, "y");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "N  NAME           STATE\n"
                                        "1  a^[[2Jb^Jc^Id  y\n");
    table_destroy(t);
    buf_free(&out);
}

static void text_of_others_is_made_harmless(void **state)
{
    static const struct {
        const char *text;
        const char *keep;
        const char *harmless;
    } cases[] = {
        { "plain", "", "plain" },
        { "tab\tline\n", "\n\t", "tab\tline\n" },
        { "tab\tline\n", "", "tab^Iline^J" },
        { "\033]0;title\007", "\n", "^[]0;title^G" },
        { "\x7f", "", "^?" },
        { "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "",
          "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\xc2\x9b"
          "2J",
          "", "\\xc2\\x9b2J" },
        { "\x9b"
          "2J",
          "", "\\x9b2J" },
        { "\xff\xc0\x80", "", "\\xff\\xc0\\x80" },
        { "\xe2\x82", "", "\\xe2\\x82" },
        { "\xed\xa0\x80", "", "\\xed\\xa0\\x80" },
        { "\xe2\x80\xae"
          "evil",
          "", "\\xe2\\x80\\xaeevil" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        text_add_harmless(&out, cases[i].text, strlen(cases[i].text), cases[i].keep);
        assert_string_equal(buf_text(&out), cases[i].harmless);
        buf_free(&out);
    }
    {
        struct buf out = { 0 };

        text_add_harmless(&out, "a\0b", 3, "\n");
        assert_string_equal(buf_text(&out), "a^@b");
        buf_free(&out);
    }
}

static void a_character_is_not_torn_apart(void **state)
{
    static const struct {
        const char *text;
        size_t whole;
    } cases[] = {
        { "abc", 3 },      { "ab\xc3", 2 },           { "ab\xc3\xa9", 4 },
        { "\xe2\x82", 0 }, { "x\xf0\x9f\x98", 1 },    { "x\xf0\x9f\x98\x80", 5 },
        { "", 0 },         { "\x80\x80\x80\x80", 4 }, { "\x80", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(text_whole(cases[i].text, strlen(cases[i].text)), cases[i].whole);
    assert_int_equal(text_width("n\xc3\xa9\xe2\x82\xac", 6), 3);
    assert_int_equal(text_fitting("n\xc3\xa9\xe2\x82\xac", 6, 2), 3);
    assert_int_equal(text_fitting("abc", 3, 0), 0);
    assert_int_equal(text_fitting("abc", 3, 9), 3);
}

static void the_progress_line_tells_how_far_it_is(void **state)
{
    struct sweep_info s = { .sweep = 7,
                            .state = SWEEP_RUNNING,
                            .jobs = { .queued = 8, .running = 2, .done = 13, .failed = 1 } };
    struct progress p = { .ended_before = 4, .began_at_ms = 1000 };
    struct buf out = { 0 };

    (void)state;
    progress_add_line(&out, &p, &s, 31000, 79);
    assert_string_equal(buf_text(&out), "sweep 7 13/24 done, 2 running, 1 failed, about 30 s left");
    buf_clear(&out);
    progress_add_line(&out, &p, &s, 31000, 120);
    assert_string_equal(buf_text(&out), "sweep 7 [##############..........] 13/24 done, 2 running, "
                                        "1 failed, about 30 s left");
    buf_clear(&out);
    progress_add_line(&out, &p, &s, 31000, 20);
    assert_string_equal(buf_text(&out), "sweep 7 13/24 done, ");
    buf_clear(&out);
    p.ended_before = 14;
    progress_add_line(&out, &p, &s, 31000, 79);
    assert_string_equal(buf_text(&out), "sweep 7 13/24 done, 2 running, 1 failed");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(later_parts_keep_the_widths_and_have_no_head),
        cmocka_unit_test(a_narrow_terminal_shrinks_what_may_shrink),
        cmocka_unit_test(colours_do_not_disturb_the_columns),
        cmocka_unit_test(a_cell_cannot_break_out),
        cmocka_unit_test(text_of_others_is_made_harmless),
        cmocka_unit_test(a_character_is_not_torn_apart),
        cmocka_unit_test(the_progress_line_tells_how_far_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* safe_text.c - tests of text that others wrote, made harmless for a terminal */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "client/term/safe_text.h"

static void what_a_terminal_would_obey_is_written_out(void **state)
{
    static const struct {
        const char *text, *keep, *harmless;
    } cases[] = {
        { "plain", "", "plain" },
        { "\033[31mred\033[0m", "", "^[[31mred^[[0m" },
        { "\033]0;title\007", "", "^[]0;title^G" },
        { "a\rb\nc\td", "", "a^Mb^Jc^Id" },
        { "a\rb\nc\td", "\n\t\r", "a\rb\nc\td" },
        { "\x7f\b", "", "^?^H" },
        { "grün ∑ 😀", "", "grün ∑ 😀" },
        { "\xc2\x9b"
          "31m",
          "", "\\xc2\\x9b31m" }, /* CSI as one character */
        { "\x9b"
          "31m",
          "", "\\x9b31m" }, /* and as one byte */
        { "\xff\xfe", "", "\\xff\\xfe" },
        { "\xc0\xaf", "", "\\xc0\\xaf" }, /* overlong */
        { "\xe2\x80\xae"
          "evil",
          "", "\\xe2\\x80\\xaeevil" }, /* right to left */
        { "\xe2\x81\xa6", "", "\\xe2\\x81\\xa6" },
        /* marks of a direction: right to left, left to right, Arabic */
        { "\xe2\x80\x8f\xe2\x80\x8e\xd8\x9c", "", "\\xe2\\x80\\x8f\\xe2\\x80\\x8e\\xd8\\x9c" },
        { "\xe2\x80\x8d \xd8\x9b", "", "\xe2\x80\x8d \xd8\x9b" }, /* their neighbours */
        { "\xed\xa0\x80", "", "\\xed\\xa0\\x80" },                /* a surrogate */
        { "\xf4\x90\x80\x80", "", "\\xf4\\x90\\x80\\x80" },       /* beyond U+10FFFF */
        { "cut \xe2\x88", "", "cut \\xe2\\x88" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        safe_text_add_harmless(&out, cases[i].text, strlen(cases[i].text), cases[i].keep);
        assert_string_equal(buf_text(&out), cases[i].harmless);
        buf_free(&out);
    }
}

static void an_error_becomes_one_harmless_line(void **state)
{
    struct err e = { 0 };

    (void)state;
    err_set(&e, ERR_DENIED, "open a\nb\033[31m: %s", "no");
    assert_int_equal(safe_text_make_harmless(&e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_string_equal(e.text, "open a^Jb^[[31m: no");
    assert_int_equal(safe_text_make_harmless(NULL), -1);
}

static void a_nul_is_written_out_whatever_is_kept(void **state)
{
    struct buf out = { 0 };

    (void)state;
    safe_text_add_harmless(&out, "a\0b", 3, "\n\t");
    assert_string_equal(buf_text(&out), "a^@b");
    buf_free(&out);
}

/* Whatever the bytes are, what comes out has no control character, and is UTF-8 still. */
static void no_bytes_get_through(void **state)
{
    unsigned seed = 1;

    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    for (int round = 0; round < 20000; round++) {
        char bytes[8];
        struct buf out = { 0 };

        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1103515245u + 12345u;
            bytes[i] = (char)(seed >> 16);
        }
        safe_text_add_harmless(&out, bytes, sizeof bytes, "\n");
        for (size_t i = 0; i < out.n; i++) {
            assert_true(out.bytes[i] >= 0x20 || out.bytes[i] == '\n');
            assert_int_not_equal(out.bytes[i], 0x7f);
            if (out.bytes[i] == 0xc2 && i + 1 < out.n)
                assert_true(out.bytes[i + 1] >= 0xa0);
        }
        assert_int_equal(mbstowcs(NULL, buf_text(&out), 0) == (size_t)-1, 0);
        buf_free(&out);
    }
}

static void a_character_that_is_not_whole_yet_waits(void **state)
{
    static const struct {
        const char *text;
        size_t whole;
    } cases[] = {
        { "", 0 },
        { "abc", 3 },
        { "a\xe2", 1 },
        { "a\xe2\x88", 1 },
        { "a\xe2\x88\x91", 4 },
        { "\xf0\x9f\x98", 0 },
        { "\xc3", 0 },
        { "x\x80\x80\x80\x80", 5 },
        { "a\xff", 2 }, /* waiting would not make it better */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(safe_text_whole(cases[i].text, strlen(cases[i].text)), cases[i].whole);
}

static void characters_are_columns(void **state)
{
    (void)state;
    assert_int_equal(safe_text_width("grün", strlen("grün")), 4);
    assert_int_equal(safe_text_fitting("grün", strlen("grün"), 3), strlen("grü"));
    assert_int_equal(safe_text_fitting("grün", strlen("grün"), 9), strlen("grün"));
    assert_int_equal(safe_text_fitting("grün", strlen("grün"), 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_terminal_would_obey_is_written_out),
        cmocka_unit_test(an_error_becomes_one_harmless_line),
        cmocka_unit_test(a_nul_is_written_out_whatever_is_kept),
        cmocka_unit_test(no_bytes_get_through),
        cmocka_unit_test(a_character_that_is_not_whole_yet_waits),
        cmocka_unit_test(characters_are_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

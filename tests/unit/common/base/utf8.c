/* SPDX-License-Identifier: MIT */
/* utf8.c - tests of characters, byte by byte */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/base/utf8.h"

static void characters_are_read(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        uint32_t character;
    } cases[] = {
        { "a", 1, 'a' },
        { "\x7f", 1, 0x7f },
        { "\xc2\x80", 2, 0x80 },
        { "\xdf\xbf", 2, 0x7ff },
        { "\xe0\xa0\x80", 3, 0x800 },
        { "\xed\x9f\xbf", 3, 0xd7ff },
        { "\xee\x80\x80", 3, 0xe000 },
        { "\xef\xbf\xbf", 3, 0xffff },
        { "\xf0\x90\x80\x80", 4, 0x10000 },
        { "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
        { "\xc3\xa9t\xc3\xa9", 2, 0xe9 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t character = 0;

        assert_int_equal(utf8_next(cases[i].text, strlen(cases[i].text), &character), cases[i].n);
        assert_int_equal(character, cases[i].character);
        assert_int_equal(utf8_valid(cases[i].text, strlen(cases[i].text)), strlen(cases[i].text));
    }
    assert_int_equal(utf8_next("\0", 1, NULL), 1);
}

static void what_is_no_character_is_none(void **state)
{
    static const char *const cases[] = {
        "\x80",             /* a later byte */
        "\xbf\xbf",         /* */
        "\xc3",             /* cut */
        "\xe2\x88",         /* */
        "\xf0\x9f\x98",     /* */
        "\xc3z",            /* without its second byte */
        "\xe2\x88z",        /* */
        "\xc0\xaf",         /* longer than need be */
        "\xc1\xbf",         /* */
        "\xe0\x9f\xbf",     /* */
        "\xf0\x8f\xbf\xbf", /* */
        "\xed\xa0\x80",     /* surrogates */
        "\xed\xbf\xbf",     /* */
        "\xf4\x90\x80\x80", /* beyond U+10FFFF */
        "\xf5\x80\x80\x80", /* */
        "\xff",             /* */
    };
    uint32_t character = 7;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(utf8_next(cases[i], strlen(cases[i]), &character), 0);
        assert_int_equal(utf8_valid(cases[i], strlen(cases[i])), 0);
    }
    assert_int_equal(character, 7);
    assert_int_equal(utf8_valid("a\xc3\xa9\xff", 4), 3);
    assert_int_equal(utf8_valid("", 0), 0);
}

static void characters_are_counted_and_not_cut(void **state)
{
    static const char text[] = "a\xc3\xa9\xe2\x88\x91\xf0\x9f\x98\x80z"; /* 1 + 2 + 3 + 4 + 1 */
    static const size_t cuts[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11 };

    (void)state;
    assert_int_equal(utf8_count(text, strlen(text)), 5);
    for (size_t n = 0; n < sizeof cuts / sizeof cuts[0]; n++)
        assert_int_equal(utf8_cut(text, n), cuts[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_read),
        cmocka_unit_test(what_is_no_character_is_none),
        cmocka_unit_test(characters_are_counted_and_not_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

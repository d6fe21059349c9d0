/* SPDX-License-Identifier: MIT */
/* err.c - errors are worded, wrapped and classified */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/err.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void an_error_has_the_kind_and_text_it_was_set_to(void **state)
{
    struct err e = { 0 };

    (void)state;
    assert_int_equal(err_set(&e, ERR_NOT_FOUND, "no job %d.%d", 7, 13), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_string_equal(e.text, "no job 7.13");
}

static void wrapping_says_where_without_losing_what(void **state)
{
    struct err e = { 0 };

    (void)state;
    errno = ENOSPC;
    err_sys(&e, "open %s", "/scratch/x");
    assert_int_equal(err_wrap(&e, "node %s", "n03"), -1);
    err_wrap(&e, "job %s", "7.13");
    assert_int_equal(e.kind, ERR_NO_SPACE);
    assert_string_equal(e.text, "job 7.13: node n03: open /scratch/x: No space left on device");
}

static void wrapping_nothing_is_still_a_failure(void **state)
{
    struct err e = { 0 };

    (void)state;
    err_wrap(&e, "node %s", "n03");
    assert_int_equal(e.kind, ERR_FAILED);
    assert_string_equal(e.text, "node n03");
}

static void an_error_can_be_worded_from_its_own_text(void **state)
{
    struct err e = { 0 };

    (void)state;
    err_set(&e, ERR_BUSY, "locked");
    err_set(&e, ERR_FAILED, "sweep: %s", e.text);
    err_wrap(&e, "again %s", e.text);
    assert_string_equal(e.text, "again sweep: locked: sweep: locked");
}

static void errno_chooses_the_kind_and_is_kept(void **state)
{
    static const struct {
        int number;
        enum err_kind kind;
    } cases[] = {
        { ENOENT, ERR_NOT_FOUND },
        { ENOTDIR, ERR_NOT_FOUND },
        { EEXIST, ERR_EXISTS },
        { ENOTEMPTY, ERR_EXISTS },
        { EACCES, ERR_DENIED },
        { EPERM, ERR_DENIED },
        { EROFS, ERR_DENIED },
        { ENOSPC, ERR_NO_SPACE },
        { EDQUOT, ERR_NO_SPACE },
        { ECONNREFUSED, ERR_UNREACHABLE },
        { ECONNRESET, ERR_UNREACHABLE },
        { EPIPE, ERR_UNREACHABLE },
        { ETIMEDOUT, ERR_UNREACHABLE },
        { EHOSTUNREACH, ERR_UNREACHABLE },
        { ENETUNREACH, ERR_UNREACHABLE },
        { EAGAIN, ERR_BUSY },
        { EBUSY, ERR_BUSY },
        { EIO, ERR_FAILED },
        { EISDIR, ERR_FAILED },
        { EMFILE, ERR_FAILED },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct err e = { 0 };

        errno = cases[i].number;
        assert_int_equal(err_sys(&e, "open x"), -1);
        assert_int_equal(errno, cases[i].number);
        assert_int_equal(e.kind, cases[i].kind);
        assert_non_null(strstr(e.text, strerror(cases[i].number)));
    }
}

static void nobody_needs_to_want_the_text(void **state)
{
    (void)state;
    errno = EIO;
    assert_int_equal(err_set(NULL, ERR_FAILED, "%s", "x"), -1);
    assert_int_equal(err_sys(NULL, "%s", "x"), -1);
    assert_int_equal(err_wrap(NULL, "%s", "x"), -1);
    err_clear(NULL);
    assert_int_equal(errno, EIO);
}

static void a_cleared_error_is_none(void **state)
{
    struct err e = { 0 };

    (void)state;
    err_set(&e, ERR_DENIED, "no");
    err_clear(&e);
    assert_int_equal(e.kind, ERR_NONE);
    assert_string_equal(e.text, "");
}

static void of_several_errors_the_first_is_kept(void **state)
{
    struct err first = { 0 }, none = { 0 }, one = { 0 }, two = { 0 };

    (void)state;
    err_set(&one, ERR_DENIED, "one");
    err_set(&two, ERR_FAILED, "two");
    err_keep(&first, NULL);
    err_keep(&first, &none);
    assert_int_equal(first.kind, ERR_NONE);
    err_keep(&first, &one);
    err_keep(&first, &two);
    assert_int_equal(first.kind, ERR_DENIED);
    assert_string_equal(first.text, "one");
}

static void a_text_that_just_fits_is_whole(void **state)
{
    char text[ERR_TEXT_BYTES];
    struct err e = { 0 };

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&e, ERR_FAILED, "%s", text);
    assert_string_equal(e.text, text);
}

/* Bytes of a UTF-8 text that stand for a whole number of characters. */
static bool is_whole_utf8(const char *s, size_t n)
{
    while (n > 0) {
        unsigned char c = (unsigned char)*s;
        size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

        if (c >= 0x80 && c < 0xc0)
            return false;
        if (length > n)
            return false;
        s += length;
        n -= length;
    }
    return true;
}

static void assert_ends_in_dots(const struct err *e)
{
    size_t n = strlen(e->text);

    assert_in_range(n, ERR_TEXT_BYTES - 8, ERR_TEXT_BYTES - 1);
    assert_string_equal(e->text + n - 3, "...");
    assert_true(is_whole_utf8(e->text, n - 3));
}

static void a_text_too_long_ends_in_dots_between_two_characters(void **state)
{
    static const char *const characters[] = { "x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x8e\xb9" };

    (void)state;
    for (size_t i = 0; i < LENGTH(characters); i++)
        for (size_t shift = 0; shift < 5; shift++) {
            char text[3 * ERR_TEXT_BYTES] = "01234";
            struct err e = { 0 };

            text[shift] = '\0';
            while (strlen(text) < 2 * ERR_TEXT_BYTES)
                memcpy(text + strlen(text), characters[i], strlen(characters[i]) + 1);
            err_set(&e, ERR_FAILED, "%s", text);
            assert_ends_in_dots(&e);
            errno = EIO;
            err_sys(&e, "%s", text);
            assert_ends_in_dots(&e);
            err_wrap(&e, "%s", text);
            assert_ends_in_dots(&e);
            assert_memory_equal(e.text, text, ERR_TEXT_BYTES - 8);
        }
}

static void a_long_cause_is_cut_behind_the_prefix(void **state)
{
    struct err e = { 0 };

    (void)state;
    err_set(&e, ERR_FAILED, "%0*d", ERR_TEXT_BYTES - 1, 0);
    err_wrap(&e, "node n03");
    assert_memory_equal(e.text, "node n03: 000", 13);
    assert_ends_in_dots(&e);
}

static void every_kind_has_a_name_that_leads_back_to_it(void **state)
{
    (void)state;
    for (int kind = ERR_NONE; kind < ERR_KIND_COUNT; kind++)
        assert_int_equal(err_kind_parse(err_kind_name((enum err_kind)kind)), kind);
    assert_int_equal(err_kind_parse("no-such-kind"), ERR_INTERNAL);
    assert_string_equal(err_kind_name(ERR_KIND_COUNT), "internal");
}

static void a_kind_leads_to_its_exit_code(void **state)
{
    (void)state;
    assert_int_equal(err_exit_code(ERR_NONE), 0);
    assert_int_equal(err_exit_code(ERR_FAILED), 1);
    assert_int_equal(err_exit_code(ERR_USAGE), 2);
    assert_int_equal(err_exit_code(ERR_UNREACHABLE), 3);
    assert_int_equal(err_exit_code(ERR_DENIED), 4);
    assert_int_equal(err_exit_code(ERR_KIND_COUNT), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_the_kind_and_text_it_was_set_to),
        cmocka_unit_test(wrapping_says_where_without_losing_what),
        cmocka_unit_test(wrapping_nothing_is_still_a_failure),
        cmocka_unit_test(an_error_can_be_worded_from_its_own_text),
        cmocka_unit_test(errno_chooses_the_kind_and_is_kept),
        cmocka_unit_test(nobody_needs_to_want_the_text),
        cmocka_unit_test(a_cleared_error_is_none),
        cmocka_unit_test(of_several_errors_the_first_is_kept),
        cmocka_unit_test(a_text_that_just_fits_is_whole),
        cmocka_unit_test(a_text_too_long_ends_in_dots_between_two_characters),
        cmocka_unit_test(a_long_cause_is_cut_behind_the_prefix),
        cmocka_unit_test(every_kind_has_a_name_that_leads_back_to_it),
        cmocka_unit_test(a_kind_leads_to_its_exit_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

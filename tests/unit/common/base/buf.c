/* SPDX-License-Identifier: MIT */
/* buf.c - bytes that grow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

static void an_empty_buffer_is_an_empty_text(void **state)
{
    struct buf b = { 0 };

    (void)state;
    assert_string_equal(buf_text(&b), "");
    buf_clear(&b);
    buf_drop_front(&b, 0);
    buf_add(&b, NULL, 0);
    assert_int_equal(b.n, 0);
    assert_string_equal(buf_text(&b), "");
    buf_free(&b);
    buf_free(&b);
    assert_null(b.bytes);
}

static void what_is_added_comes_one_behind_the_other_with_a_nul_at_the_end(void **state)
{
    struct buf b = { 0 };

    (void)state;
    buf_add_str(&b, "job ");
    buf_printf(&b, "%d.%d", 7, 13);
    buf_add_char(&b, '!');
    assert_string_equal((char *)b.bytes, "job 7.13!");
    buf_add(&b, "\0x", 2);
    assert_int_equal(b.n, 11);
    assert_memory_equal(b.bytes, "job 7.13!\0x", 12);
    buf_free(&b);
}

/* Every length near a border of the capacity is met on the way. */
static void each_byte_is_kept_while_it_grows(void **state)
{
    struct buf b = { 0 };
    size_t grown = 0, capacity = 0;

    (void)state;
    for (size_t i = 0; i < 70000; i++) {
        buf_add_char(&b, (char)(i % 251));
        grown += b.capacity != capacity;
        capacity = b.capacity;
        assert_true(b.n < b.capacity);
        assert_int_equal(b.bytes[b.n], 0);
    }
    for (size_t i = 0; i < 70000; i++)
        assert_int_equal(b.bytes[i], i % 251);
    assert_in_range(grown, 1, 20);
    buf_free(&b);
}

static void a_long_format_is_written_whole_whatever_room_was_left(void **state)
{
    (void)state;
    for (int before = 0; before < 70; before++)
        for (int n = 0; n < 200; n += 7) {
            struct buf b = { 0 };
            size_t length = (size_t)before + (size_t)n;

            buf_printf(&b, "%.*s%.*s", 0, "", 0, "");
            for (int i = 0; i < before; i++)
                buf_add_char(&b, 'a');
            buf_printf(&b, "%*s", n, "");
            assert_int_equal(b.n, length);
            assert_int_equal(strlen(buf_text(&b)), length);
            assert_int_equal(strspn(buf_text(&b), "a"), (size_t)before);
            buf_free(&b);
        }
}

static void reserved_room_becomes_content_when_it_was_filled(void **state)
{
    struct buf b = { 0 };

    (void)state;
    buf_add_str(&b, "ab");
    memset(buf_reserve(&b, 100000), 'x', 100000);
    assert_int_equal(b.n, 2);
    buf_added(&b, 3);
    assert_string_equal(buf_text(&b), "abxxx");
    buf_free(&b);
}

static void dropping_the_front_keeps_the_rest(void **state)
{
    struct buf b = { 0 };

    (void)state;
    buf_add_str(&b, "0123456789");
    buf_drop_front(&b, 3);
    assert_string_equal(buf_text(&b), "3456789");
    buf_drop_front(&b, 7);
    assert_int_equal(b.n, 0);
    assert_string_equal(buf_text(&b), "");
    buf_free(&b);
}

static void clearing_keeps_the_memory(void **state)
{
    struct buf b = { 0 };
    const uint8_t *bytes;

    (void)state;
    buf_add_str(&b, "x");
    bytes = b.bytes;
    buf_clear(&b);
    assert_string_equal(buf_text(&b), "");
    assert_ptr_equal(b.bytes, bytes);
    buf_free(&b);
}

static void a_text_that_was_taken_belongs_to_the_taker(void **state)
{
    struct buf b = { 0 };
    char *none = buf_take(&b);
    char *text;

    (void)state;
    buf_add_str(&b, "mine");
    assert_int_equal(buf_bytes(&b).n, 4);
    assert_ptr_equal(buf_bytes(&b).data, b.bytes);
    text = buf_take(&b);
    assert_null(b.bytes);
    assert_int_equal(b.n, 0);
    buf_add_str(&b, "other");
    assert_string_equal(text, "mine");
    assert_string_equal(none, "");
    free(none);
    free(text);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_text),
        cmocka_unit_test(what_is_added_comes_one_behind_the_other_with_a_nul_at_the_end),
        cmocka_unit_test(each_byte_is_kept_while_it_grows),
        cmocka_unit_test(a_long_format_is_written_whole_whatever_room_was_left),
        cmocka_unit_test(reserved_room_becomes_content_when_it_was_filled),
        cmocka_unit_test(dropping_the_front_keeps_the_rest),
        cmocka_unit_test(clearing_keeps_the_memory),
        cmocka_unit_test(a_text_that_was_taken_belongs_to_the_taker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

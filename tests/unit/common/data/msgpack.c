/* SPDX-License-Identifier: MIT */
/* msgpack.c - msgpack: what is written is read, what is hostile is refused */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/json.h"
#include "common/data/msgpack.h"

#define BYTES(s) (s), sizeof(s) - 1

/* Reads msgpack and gives its JSON, or the error's text. */
static const char *read_as_json(struct arena *a, const char *bytes, size_t n)
{
    struct buf text = { 0 };
    struct value v;
    struct err e = { 0 };
    const char *answer;

    if (mp_read(bytes, n, a, &v, &e) < 0) {
        assert_int_equal(e.kind, ERR_PROTOCOL);
        return arena_strdup(a, e.text);
    }
    json_add_value(&text, &v);
    answer = arena_strdup(a, buf_text(&text));
    buf_free(&text);
    return answer;
}

static void each_form_of_msgpack_is_read(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *json;
    } cases[] = {
        { BYTES("\xc0"), "null" },
        { BYTES("\xc2"), "false" },
        { BYTES("\xc3"), "true" },
        { BYTES("\x7f"), "127" },
        { BYTES("\xe0"), "-32" },
        { BYTES("\xcc\xff"), "255" },
        { BYTES("\xcd\xff\xfe"), "65534" },
        { BYTES("\xce\xff\xff\xff\xff"), "4294967295" },
        { BYTES("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"), "9223372036854775807" },
        { BYTES("\xd0\x80"), "-128" },
        { BYTES("\xd1\x80\x00"), "-32768" },
        { BYTES("\xd2\x80\x00\x00\x00"), "-2147483648" },
        { BYTES("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"), "-9223372036854775808" },
        { BYTES("\xca\x3f\x80\x00\x00"), "1.0" },
        { BYTES("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), "0.1" },
        { BYTES("\xa0"), "\"\"" },
        { BYTES("\xa2hi"), "\"hi\"" },
        { BYTES("\xd9\x02hi"), "\"hi\"" },
        { BYTES("\xda\x00\x02hi"), "\"hi\"" },
        { BYTES("\xdb\x00\x00\x00\x02hi"), "\"hi\"" },
        { BYTES("\xc4\x02\x01\xff"), "\"01ff\"" },
        { BYTES("\xc5\x00\x00"), "\"\"" },
        { BYTES("\xc6\x00\x00\x00\x01\x0a"), "\"0a\"" },
        { BYTES("\x90"), "[]" },
        { BYTES("\x92\x01\x91\xc0"), "[1,[null]]" },
        { BYTES("\xdc\x00\x01\x05"), "[5]" },
        { BYTES("\xdd\x00\x00\x00\x01\x05"), "[5]" },
        { BYTES("\x80"), "{}" },
        { BYTES("\x82\xa1z\x01\xa1y\x80"), "{\"z\":1,\"y\":{}}" },
        { BYTES("\xde\x00\x01\xa1z\x01"), "{\"z\":1}" },
        { BYTES("\xdf\x00\x00\x00\x01\xa1z\x01"), "{\"z\":1}" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(read_as_json(a, cases[i].bytes, cases[i].n), cases[i].json);
    arena_destroy(a);
}

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *error;
    } cases[] = {
        { BYTES(""), "msgpack, byte 0: it ends too early" },
        { BYTES("\xc1"), "msgpack, byte 0: a byte that begins no value" },
        { BYTES("\x01\x01"), "msgpack, byte 1: something follows the value" },
        { BYTES("\x92\x01"), "msgpack, byte 0: more items announced than there are bytes" },
        { BYTES("\xcd\x01"), "msgpack, byte 1: it ends too early" },
        { BYTES("\xa3hi"), "msgpack, byte 1: it ends too early" },
        { BYTES("\xcf\x80\x00\x00\x00\x00\x00\x00\x00"),
          "msgpack, byte 8: an integer is beyond 64 bits with sign" },
        { BYTES("\xd4\x01\x01"), "msgpack, byte 2: an extension type" },
        { BYTES("\xc7\x00\x01"), "msgpack, byte 2: an extension type" },
        { BYTES("\xd6\xff\x00\x00\x00\x00"), "msgpack, byte 5: an extension type" },
        { BYTES("\x81\x01\x01"), "msgpack, byte 2: a map key is not a string" },
        { BYTES("\x81\xc4\x01k\x01"), "msgpack, byte 4: a map key is not a string" },
        { BYTES("\x82\xa1k\x01\xa1k\x02"), "msgpack, byte 6: a map key appears twice" },
        { BYTES("\xdd\xff\xff\xff\xff\x01"),
          "msgpack, byte 4: more items announced than there are bytes" },
        { BYTES("\xdf\xff\xff\xff\xff\xa1k\x01"),
          "msgpack, byte 4: more items announced than there are bytes" },
        { BYTES("\x93\xdc\x00\x03\x01\x01\x01\x01"), "msgpack, byte 8: it ends too early" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(read_as_json(a, cases[i].bytes, cases[i].n), cases[i].error);
    arena_destroy(a);
}

static void nesting_ends_at_the_limit(void **state)
{
    struct arena *a = arena_create();
    char bytes[MP_DEPTH_MAX + 2];

    (void)state;
    memset(bytes, 0x91, sizeof bytes);
    bytes[MP_DEPTH_MAX] = 0x01;
    assert_memory_equal(read_as_json(a, bytes, MP_DEPTH_MAX + 1), "[[[[", 4);
    bytes[MP_DEPTH_MAX] = (char)0x91;
    bytes[MP_DEPTH_MAX + 1] = 0x01;
    assert_string_equal(read_as_json(a, bytes, MP_DEPTH_MAX + 2),
                        "msgpack, byte 32: nested too deep");
    arena_destroy(a);
}

static void a_big_map_with_a_repeated_key_is_refused_soon(void **state)
{
    enum { KEYS = 200000 };
    struct arena *a = arena_create();
    struct buf b = { 0 };
    char key[16];

    (void)state;
    mp_add_map(&b, KEYS);
    for (int i = 0; i < KEYS; i++) {
        int n = snprintf(key, sizeof key, "%d", i == KEYS - 1 ? 0 : i);

        mp_add_str(&b, key, (size_t)n);
        mp_add_null(&b);
    }
    assert_non_null(strstr(read_as_json(a, (char *)b.bytes, b.n), "a map key appears twice"));
    buf_free(&b);
    arena_destroy(a);
}

static void what_is_written_is_read_again(void **state)
{
    static const char json[] =
        "{\"a\":[1,-1,127,128,-32,-33,255,256,65535,65536,4294967296,-2147483649,"
        "9223372036854775807,-9223372036854775808],\"b\":[1.0,-0.0,1e300,NaN,-Infinity],"
        "\"c\":{\"\":null,\"t\":true,\"f\":false},\"d\":[[],{},\"\",\"Gr\xc3\xbc\xc3\x9f\x65\"]}";
    struct arena *a = arena_create();
    struct value v, again, bin = { .type = VALUE_BIN, .str = { "\0\xff", 2 } };
    struct buf b = { 0 };

    (void)state;
    assert_int_equal(json_read(json, sizeof json - 1, a, &v, NULL), 0);
    mp_add_value(&b, &v);
    assert_int_equal(mp_read(b.bytes, b.n, a, &again, NULL), 0);
    assert_true(value_equal(&v, &again));
    buf_clear(&b);
    mp_add_value(&b, &bin);
    assert_int_equal(mp_read(b.bytes, b.n, a, &again, NULL), 0);
    assert_true(value_equal(&bin, &again));
    buf_free(&b);
    arena_destroy(a);
}

static void whole_floats_stay_floats(void **state)
{
    struct buf b = { 0 };

    (void)state;
    mp_add_float(&b, 2.0);
    assert_int_equal(b.n, 9);
    assert_memory_equal(b.bytes, "\xcb\x40\0\0\0\0\0\0\0", 9);
    buf_free(&b);
}

static void strings_are_copied_out_of_the_bytes(void **state)
{
    struct arena *a = arena_create();
    char bytes[] = "\xa5hello";
    struct value v;

    (void)state;
    assert_int_equal(mp_read(bytes, 6, a, &v, NULL), 0);
    memset(bytes, 'x', sizeof bytes);
    assert_string_equal(v.str.s, "hello");
    arena_destroy(a);
}

struct seen {
    struct buf items;
    int stop_at;
    int n;
};

static int note_item(void *context, struct bytes item, struct err *e)
{
    struct seen *seen = context;

    (void)e;
    buf_add(&seen->items, item.data, item.n);
    buf_add_char(&seen->items, '|');
    return ++seen->n == seen->stop_at ? 7 : 0;
}

static void items_of_a_list_are_found_without_decoding(void **state)
{
    struct seen seen = { 0 };

    (void)state;
    assert_int_equal(mp_each_item(BYTES("\x93\x41\x92\x42\x43\xa2hi"), note_item, &seen, NULL), 0);
    assert_string_equal(buf_text(&seen.items), "\x41|\x92\x42\x43|\xa2hi|");
    buf_clear(&seen.items);
    assert_int_equal(mp_each_item(BYTES("\xdc\x00\x01\x41"), note_item, &seen, NULL), 0);
    assert_string_equal(buf_text(&seen.items), "\x41|");
    buf_clear(&seen.items);
    assert_int_equal(mp_each_item(BYTES("\xdd\x00\x00\x00\x01\x41"), note_item, &seen, NULL), 0);
    assert_string_equal(buf_text(&seen.items), "\x41|");
    buf_clear(&seen.items);
    assert_int_equal(mp_each_item(BYTES("\x90"), note_item, &seen, NULL), 0);
    assert_string_equal(buf_text(&seen.items), "");
    buf_free(&seen.items);
}

static void a_walk_over_items_stops_with_the_callers_answer(void **state)
{
    struct seen seen = { .stop_at = 2 };

    (void)state;
    assert_int_equal(mp_each_item(BYTES("\x93\x01\x02\x03"), note_item, &seen, NULL), 7);
    assert_int_equal(seen.n, 2);
    buf_free(&seen.items);
}

static void a_walk_over_items_refuses_what_is_no_list(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *error;
    } cases[] = {
        { BYTES(""), "msgpack: expected a list" },
        { BYTES("\x80"), "msgpack: expected a list" },
        { BYTES("\xdd\x00\x00"), "msgpack, byte 3: it ends too early" },
        { BYTES("\x92\x01"), "msgpack, byte 2: it ends too early" },
        { BYTES("\x91\x01\x01"), "msgpack, byte 2: something follows the list" },
        { BYTES("\xdd\xff\xff\xff\xff\x01"), "msgpack, byte 6: it ends too early" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen seen = { 0 };
        struct err e = { 0 };

        assert_int_equal(mp_each_item(cases[i].bytes, cases[i].n, note_item, &seen, &e), -1);
        assert_string_equal(e.text, cases[i].error);
        buf_free(&seen.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_of_msgpack_is_read),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(nesting_ends_at_the_limit),
        cmocka_unit_test(a_big_map_with_a_repeated_key_is_refused_soon),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(whole_floats_stay_floats),
        cmocka_unit_test(strings_are_copied_out_of_the_bytes),
        cmocka_unit_test(items_of_a_list_are_found_without_decoding),
        cmocka_unit_test(a_walk_over_items_stops_with_the_callers_answer),
        cmocka_unit_test(a_walk_over_items_refuses_what_is_no_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

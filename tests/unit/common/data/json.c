/* SPDX-License-Identifier: MIT */
/* json.c - JSON read and written */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/quote.h"
#include "common/data/json.h"

struct text_case {
    const char *text;
    const char *answer;
};

/* Reads JSON and writes it again, or gives the error's text. */
static const char *read_and_write(struct arena *a, const char *text, size_t n)
{
    char *exact = mem_resize(NULL, n, 1); /* so that a byte too far is noticed */
    struct buf out = { 0 };
    struct value v;
    struct err e = { 0 };
    const char *answer;

    memcpy(exact, text, n);
    if (json_read(exact, n, a, &v, &e) < 0)
        buf_add_str(&out, e.text);
    else
        json_add_value(&out, &v);
    free(exact);
    answer = arena_strdup(a, buf_text(&out));
    buf_free(&out);
    return answer;
}

static void check_all(const struct text_case *cases, size_t n)
{
    struct arena *a = arena_create();

    for (size_t i = 0; i < n; i++)
        assert_string_equal(read_and_write(a, cases[i].text, strlen(cases[i].text)),
                            cases[i].answer);
    arena_destroy(a);
}

static void values_keep_their_types(void **state)
{
    static const struct text_case cases[] = {
        { "null", "null" },
        { " true \n", "true" },
        { "1", "1" },
        { "-0", "0" },
        { "1.0", "1.0" },
        { "1e2", "100.0" },
        { "0.1", "0.1" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "9223372036854775808", "9.223372036854776e+18" },
        { "18446744073709551615", "1.8446744073709552e+19" },
        { "NaN", "NaN" },
        { "[Infinity, -Infinity]", "[Infinity,-Infinity]" },
        { "[]", "[]" },
        { "{ }", "{}" },
        { "{\"b\": [1, {\"c\": null}], \"a\": \"x\"}", "{\"b\":[1,{\"c\":null}],\"a\":\"x\"}" },
        { "\"\\u00e9\\n\\\"\\\\\\/\"", "\"\xc3\xa9\\n\\\"\\\\/\"" },
        { "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"" },
        { "\"a\\u0000b\"", "\"a\\u0000b\"" },
    };

    (void)state;
    check_all(cases, sizeof cases / sizeof cases[0]);
}

static void the_last_of_repeated_keys_wins(void **state)
{
    static const struct text_case cases[] = { { "{\"a\":1,\"b\":2,\"a\":3}",
                                                "{\"a\":3,\"b\":2}" } };

    (void)state;
    check_all(cases, 1);
}

/* The rest of the sentence is json-c's and differs between its versions. */
static void what_is_wrong_is_refused_with_its_place(void **state)
{
    static const struct text_case cases[] = {
        { "", "JSON, byte 0: it ends too early" },
        { "[1,", "JSON, byte 3: it ends too early" },
        { "\"abc", "JSON, byte 4: it ends too early" },
        { "1 2", "JSON, byte 2: " },
        { "{} x", "JSON, byte 3: " },
        { "[1,]", "JSON, byte 3: " },
        { "{a:1}", "JSON, byte 1: " },
        { "{\"a\" 1}", "JSON, byte 5: " },
        { "[1 2]", "JSON, byte 3: " },
        { "/* no */ 1", "JSON, byte 0: " },
        { "True", "JSON, byte 0: " },
        { "\"\xff\"", "JSON, byte 1: this is no UTF-8 text" },
        { "\"\xf6\xb1\x9e\x8e\"", "JSON, byte 1: this is no UTF-8 text" },
        { "[\"\xc3\xbc\",]", "JSON, byte 6: " },
        { "['\xc3\xbc']", "JSON, byte 1: " },
        { "[\xc3\xbc]", "JSON, byte 1: " },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *error = read_and_write(a, cases[i].text, strlen(cases[i].text));

        assert_memory_equal(error, cases[i].answer, strlen(cases[i].answer));
        assert_true(strlen(error) > strlen("JSON, byte 0: "));
    }
    arena_destroy(a);
}

static void integers_that_no_type_can_hold_are_refused(void **state)
{
    static const struct text_case cases[] = {
        { "18446744073709551616", "JSON, byte 0: too large for a whole number" },
        { "[0, -9223372036854775809]", "JSON, byte 5: too large for a whole number" },
        { "{\"a\\\"1\": 100000000000000000000000}", "JSON, byte 9: too large for a whole number" },
        { "\"100000000000000000000000\"", "\"100000000000000000000000\"" },
        { "100000000000000000000000.0", "1e+23" },
        { "100000000000000000000000E0", "1e+23" },
        { "1.100000000000000000000000", "1.1" },
    };

    (void)state;
    check_all(cases, sizeof cases / sizeof cases[0]);
}

/* Reads it exactly and writes it again, or gives the error's place and text. */
static const char *read_exactly(struct arena *a, const char *text)
{
    struct buf out = { 0 };
    struct value v;
    struct err e = { 0 };
    const char *answer;
    size_t n = strlen(text), offset;
    char *exact = mem_resize(NULL, n, 1);

    memcpy(exact, text, n);
    if (json_read_exact(exact, n, a, &v, &offset, &e) < 0)
        buf_printf(&out, "%zu: %s", offset, e.text);
    else
        json_add_value(&out, &v);
    free(exact);
    answer = arena_strdup(a, buf_text(&out));
    buf_free(&out);
    return answer;
}

static void text_that_no_value_can_hold_is_refused_when_it_must_be_exact(void **state)
{
    static const char twice[] = "this name stands twice between the same braces";
    static const char whole[] = "too large for a whole number";
    static const struct {
        const char *text, *place, *what;
    } cases[] = {
        { "{\"a\": 1, \"b\": 2, \"a\": 1}", "17", twice },
        { "{\"a\":1,\"\\u0061\":2}", "7", twice },
        { "[{\"x\":{\"a\":{},\"a\":[]},\"x\":1}]", "14", twice },
        { "9223372036854775808", "0", whole },
        { "[-1, -9223372036854775809]", "6", whole },
        { "{\"-9999999999999999999\": 18446744073709551615}", "25", whole },
        { "[1e308, -1e309]", "8", "too large for a number" },
        { "{\"a\":{\"b\\u0000c\":1}}", "6", "a NUL character in a name" },
        { "[1", "2", "it ends too early" },
        { "\"\xff\"", "1", "this is no UTF-8 text" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *wanted = mem_printf("%s: %s", cases[i].place, cases[i].what);

        assert_string_equal(read_exactly(a, cases[i].text), wanted);
        free(wanted);
    }
    arena_destroy(a);
}

static void what_a_value_can_hold_is_read_exactly(void **state)
{
    static const struct text_case cases[] = {
        { "{\"a\":{\"a\":1},\"b\":[{\"a\":2},{\"a\":3}]}",
          "{\"a\":{\"a\":1},\"b\":[{\"a\":2},{\"a\":3}]}" },
        { "{\"a\":\"a\",\"\\\\\":\"x:\",\"\\\"\":\"\\\"\"}",
          "{\"a\":\"a\",\"\\\\\":\"x:\",\"\\\"\":\"\\\"\"}" },
        { "[-9223372036854775808, 9223372036854775807, -0.5e-3]",
          "[-9223372036854775808,9223372036854775807,-0.0005]" },
        { "[NaN, Infinity, -Infinity, true, null]", "[NaN,Infinity,-Infinity,true,null]" },
        { "{}", "{}" },
        { "7", "7" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(read_exactly(a, cases[i].text), cases[i].answer);
    arena_destroy(a);
}

static void a_nul_byte_does_not_end_the_text(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    assert_memory_equal(read_and_write(a, "1\0002", 3), "JSON, byte 1", 12);
    assert_memory_equal(read_and_write(a, "\0", 1), "JSON, byte 0", 12);
    arena_destroy(a);
}

static void nesting_ends_at_the_limit(void **state)
{
    struct arena *a = arena_create();
    char text[2 * 33 + 1];

    (void)state;
    memset(text, '[', 32);
    text[32] = '1';
    memset(text + 33, ']', 32);
    assert_memory_equal(read_and_write(a, text, 65), text, 65);
    memset(text, '[', 33);
    memset(text + 33, ']', 33);
    assert_string_equal(read_and_write(a, text, 66), "JSON: nested too deep");
    memset(text, '[', sizeof text);
    assert_memory_equal(read_and_write(a, text, sizeof text), "JSON, byte 33: ", 15);
    arena_destroy(a);
}

static void strings_are_one_line_of_utf8_whatever_they_held(void **state)
{
    static const struct {
        const char *s;
        size_t n;
        const char *json;
    } cases[] = {
        { "", 0, "\"\"" },
        { "a/b", 3, "\"a/b\"" },
        { "\b\f\n\r\t\"\\", 7, "\"\\b\\f\\n\\r\\t\\\"\\\\\"" },
        { "\0\x1f\x7f", 3, "\"\\u0000\\u001f\\u007f\"" },
        { "\xc2\x85\xe2\x80\xa8\xef\xbb\xbf", 8, "\"\\u0085\\u2028\\ufeff\"" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "a\xff\x62", 3, "\"a\xef\xbf\xbd\x62\"" },
        { "\xc3", 1, "\"\xef\xbf\xbd\"" },
        { "\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xf4\x90\x80\x80", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xf8", 1, "\"\xef\xbf\xbd\"" },
    };
    struct buf b = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&b);
        quote_add(&b, cases[i].s, cases[i].n);
        assert_string_equal(buf_text(&b), cases[i].json);
    }
    buf_free(&b);
}

static void pretty_text_is_indented_and_means_the_same(void **state)
{
    static const char text[] = "{\"a\":[1,2.5],\"b\":{},\"c\":[],\"d\":{\"e\":null}}";
    static const char pretty[] = "{\n"
                                 "  \"a\": [\n"
                                 "    1,\n"
                                 "    2.5\n"
                                 "  ],\n"
                                 "  \"b\": {},\n"
                                 "  \"c\": [],\n"
                                 "  \"d\": {\n"
                                 "    \"e\": null\n"
                                 "  }\n"
                                 "}\n";
    struct arena *a = arena_create();
    struct value v, again;
    struct buf b = { 0 };

    (void)state;
    assert_int_equal(json_read(text, sizeof text - 1, a, &v, NULL), 0);
    json_add_pretty(&b, &v);
    assert_string_equal(buf_text(&b), pretty);
    assert_int_equal(json_read(buf_text(&b), b.n, a, &again, NULL), 0);
    assert_true(value_equal(&v, &again));
    buf_free(&b);
    arena_destroy(a);
}

static void bytes_are_written_in_hex(void **state)
{
    struct value bin = { .type = VALUE_BIN, .str = { "\0\xab", 2 } };
    struct buf b = { 0 };

    (void)state;
    json_add_value(&b, &bin);
    assert_string_equal(buf_text(&b), "\"00ab\"");
    buf_free(&b);
}

/* A message of a stranger's may have so many. */
static void a_list_of_many_numbers_is_read_in_a_moment(void **state)
{
    enum { N = 1000 * 1000 };
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct value v;
    clock_t began;

    (void)state;
    for (int i = 0; i < N; i++)
        buf_add_str(&text, i == 0 ? "[0" : ",0");
    buf_add_char(&text, ']');
    began = clock();
    assert_int_equal(json_read(buf_text(&text), text.n, a, &v, NULL), 0);
    assert_true(clock() - began < 10 * CLOCKS_PER_SEC);
    assert_int_equal(v.list.n, N);
    buf_free(&text);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_keep_their_types),
        cmocka_unit_test(the_last_of_repeated_keys_wins),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(integers_that_no_type_can_hold_are_refused),
        cmocka_unit_test(text_that_no_value_can_hold_is_refused_when_it_must_be_exact),
        cmocka_unit_test(what_a_value_can_hold_is_read_exactly),
        cmocka_unit_test(a_nul_byte_does_not_end_the_text),
        cmocka_unit_test(nesting_ends_at_the_limit),
        cmocka_unit_test(strings_are_one_line_of_utf8_whatever_they_held),
        cmocka_unit_test(pretty_text_is_indented_and_means_the_same),
        cmocka_unit_test(bytes_are_written_in_hex),
        cmocka_unit_test(a_list_of_many_numbers_is_read_in_a_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

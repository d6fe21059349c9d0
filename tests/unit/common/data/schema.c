/* SPDX-License-Identifier: MIT */
/* schema.c - structs by tables: encoded, decoded, checked, printed */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/schema.h"

enum color { RED, GREEN, BLUE, COLORS };
static const char *const color_names[] = { "red", "green", "blue" };

struct part {
    const char *name;
    int64_t level;
};

static const struct field part_fields[] = {
    FIELD(struct part, name, FIELD_STR, FIELD_REQUIRED, 8),
    FIELD(struct part, level, FIELD_INT, FIELD_NULLABLE, 9),
};
static const struct schema part_schema = SCHEMA(struct part, "part", part_fields);

struct spot {
    int64_t row;
    int64_t value;
};

static const struct field spot_fields[] = {
    FIELD(struct spot, row, FIELD_INT, 0, 9),
    FIELD(struct spot, value, FIELD_INT, FIELD_NULLABLE, 9),
};
static const struct schema spot_schema = SCHEMA(struct spot, "spot", spot_fields);

struct thing {
    int64_t reps;
    bool on;
    int64_t shift;
    int64_t exit_code;
    double score;
    double loss;
    const char *title;
    struct bytes blob;
    struct token token;
    struct digest digest;
    int color;
    struct value any;
    struct spot spot;
    struct list parts;
    struct list words;
    int64_t at_ms;
};

static const struct field thing_fields[] = {
    FIELD(struct thing, reps, FIELD_INT, FIELD_REQUIRED, 10000),
    FIELD(struct thing, on, FIELD_BOOL, 0, 0),
    FIELD(struct thing, shift, FIELD_INT, FIELD_SIGNED, 100),
    FIELD(struct thing, exit_code, FIELD_INT, FIELD_NULLABLE, 255),
    FIELD(struct thing, score, FIELD_FLOAT, 0, 0),
    FIELD(struct thing, loss, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct thing, title, FIELD_STR, 0, 10),
    FIELD(struct thing, blob, FIELD_BYTES, 0, 4),
    FIELD(struct thing, token, FIELD_TOKEN, 0, 0),
    FIELD(struct thing, digest, FIELD_DIGEST, 0, 0),
    FIELD_NAMED(struct thing, color, 0, color_names, COLORS),
    FIELD(struct thing, any, FIELD_VALUE, 0, 0),
    FIELD_OF(struct thing, spot, FIELD_STRUCT, 0, 0, &spot_schema),
    FIELD_OF(struct thing, parts, FIELD_LIST, 0, 2, &part_schema),
    FIELD(struct thing, words, FIELD_STRS, 0, 3),
    FIELD(struct thing, at_ms, FIELD_INT, FIELD_TIME_MS, INT64_MAX),
};
static const struct schema thing_schema = SCHEMA(struct thing, "thing", thing_fields);

static struct part full_parts[] = { { "one", 1 }, { "two", SCHEMA_NONE } };
static const char *full_words[] = { "a", "", "c" };

static struct thing full_thing(void)
{
    struct thing t = {
        .reps = 10000,
        .on = true,
        .shift = -100,
        .exit_code = 0,
        .score = 0.5,
        .loss = 0,
        .title = "",
        .blob = { (const uint8_t *)"\0\1\2", 3 },
        .color = BLUE,
        .any = { .type = VALUE_FLOAT, .f = 1 },
        .spot = { .row = 0, .value = 0 },
        .parts = { full_parts, 2 },
        .words = { full_words, 3 },
        .at_ms = 1795256100000,
    };

    memset(&t.token, 0x5a, sizeof t.token);
    t.digest.bytes[31] = 1;
    return t;
}

static void a_struct_comes_back_as_it_was(void **state)
{
    struct arena *a = arena_create();
    struct thing sent = full_thing(), got;
    struct buf b = { 0 };
    const struct part *parts;
    const char *const *words;

    (void)state;
    schema_encode(&thing_schema, &sent, &b);
    assert_int_equal(schema_read(&thing_schema, buf_bytes(&b), a, &got, NULL), 0);
    assert_int_equal(got.reps, 10000);
    assert_true(got.on);
    assert_int_equal(got.shift, -100);
    assert_int_equal(got.exit_code, 0);
    assert_true(got.score == 0.5);
    assert_true(got.loss == 0);
    assert_string_equal(got.title, "");
    assert_int_equal(got.blob.n, 3);
    assert_memory_equal(got.blob.data, "\0\1\2", 3);
    assert_memory_equal(&got.token, &sent.token, sizeof got.token);
    assert_memory_equal(&got.digest, &sent.digest, sizeof got.digest);
    assert_int_equal(got.color, BLUE);
    assert_true(value_equal(&got.any, &sent.any));
    assert_int_equal(got.spot.row, 0);
    assert_int_equal(got.spot.value, 0);
    assert_int_equal(got.at_ms, sent.at_ms);
    parts = got.parts.items;
    assert_int_equal(got.parts.n, 2);
    assert_string_equal(parts[0].name, "one");
    assert_int_equal(parts[0].level, 1);
    assert_string_equal(parts[1].name, "two");
    assert_true(parts[1].level == SCHEMA_NONE);
    words = got.words.items;
    assert_int_equal(got.words.n, 3);
    assert_string_equal(words[0], "a");
    assert_string_equal(words[1], "");
    assert_string_equal(words[2], "c");
    buf_free(&b);
    arena_destroy(a);
}

/* Encodes a thing and gives it as JSON of what is on the wire. */
static const char *encoded_as_json(struct arena *a, const struct thing *t)
{
    struct buf b = { 0 }, json = { 0 };
    struct value v;
    const char *text;

    schema_encode(&thing_schema, t, &b);
    assert_int_equal(mp_read(b.bytes, b.n, a, &v, NULL), 0);
    json_add_value(&json, &v);
    text = arena_strdup(a, buf_text(&json));
    buf_free(&b);
    buf_free(&json);
    return text;
}

static void absent_fields_are_not_sent_and_come_back_absent(void **state)
{
    struct arena *a = arena_create();
    struct thing t = { .exit_code = SCHEMA_NONE,
                       .loss = (double)NAN,
                       .spot = { .value = SCHEMA_NONE } };
    struct thing got;

    (void)state;
    assert_string_equal(encoded_as_json(a, &t), "{\"reps\":0}");
    assert_int_equal(schema_read(&thing_schema,
                                 (struct bytes){ (const uint8_t *)"\x81\xa4reps\x05", 7 }, a, &got,
                                 NULL),
                     0);
    assert_int_equal(got.reps, 5);
    assert_true(got.exit_code == SCHEMA_NONE);
    assert_true(got.spot.value == SCHEMA_NONE);
    assert_true(isnan(got.loss));
    assert_true(got.score == 0);
    assert_null(got.title);
    assert_int_equal(got.blob.n, 0);
    assert_true(token_is_zero(&got.token));
    assert_int_equal(got.color, RED);
    assert_int_equal(got.any.type, VALUE_NULL);
    assert_int_equal(got.parts.n, 0);
    arena_destroy(a);
}

static void zero_is_sent_where_absent_is_something_else(void **state)
{
    struct arena *a = arena_create();
    struct thing t = { .spot = { .value = SCHEMA_NONE, .row = 2 }, .title = "" };

    (void)state;
    assert_string_equal(encoded_as_json(a, &t), "{\"reps\":0,\"exit_code\":0,\"loss\":0.0,"
                                                "\"title\":\"\",\"spot\":{\"row\":2}}");
    arena_destroy(a);
}

/* Decodes JSON into a thing; "" or the error's text. */
static const char *decode_json(struct arena *a, const char *json, struct thing *t)
{
    struct value v;
    struct err e = { 0 };

    assert_int_equal(json_read(json, strlen(json), a, &v, NULL), 0);
    if (schema_decode(&thing_schema, &v, a, t, &e) == 0)
        return "";
    assert_int_equal(e.kind, ERR_PROTOCOL);
    return arena_strdup(a, e.text);
}

static void what_does_not_fit_is_refused_by_name(void **state)
{
    static const struct {
        const char *json, *error;
    } cases[] = {
        { "[]", "thing: expected a map" },
        { "{}", "thing: field \"reps\" is missing" },
        { "{\"reps\":null}", "thing: field \"reps\": expected a whole number of at most 10000" },
        { "{\"reps\":10001}", "thing: field \"reps\": expected a whole number of at most 10000" },
        { "{\"reps\":-1}", "thing: field \"reps\": expected a whole number of at most 10000" },
        { "{\"reps\":1.0}", "thing: field \"reps\": expected a whole number of at most 10000" },
        { "{\"reps\":1,\"on\":1}", "thing: field \"on\": expected true or false" },
        { "{\"reps\":1,\"shift\":101}",
          "thing: field \"shift\": expected a whole number from -100 to 100" },
        { "{\"reps\":1,\"shift\":-101}",
          "thing: field \"shift\": expected a whole number from -100 to 100" },
        { "{\"reps\":1,\"score\":\"1\"}", "thing: field \"score\": expected a number" },
        { "{\"reps\":1,\"title\":\"12345678901\"}",
          "thing: field \"title\": expected text of at most 10 bytes" },
        { "{\"reps\":1,\"title\":\"a\\u0000b\"}",
          "thing: field \"title\": expected text of at most 10 bytes" },
        { "{\"reps\":1,\"title\":7}", "thing: field \"title\": expected text of at most 10 bytes" },
        { "{\"reps\":1,\"blob\":\"ab\"}", "thing: field \"blob\": expected at most 4 bytes" },
        { "{\"reps\":1,\"token\":\"ab\"}", "thing: field \"token\": expected 16 bytes" },
        { "{\"reps\":1,\"digest\":[]}", "thing: field \"digest\": expected 32 bytes" },
        { "{\"reps\":1,\"color\":\"pink\"}",
          "thing: field \"color\": expected red, green or blue" },
        { "{\"reps\":1,\"color\":\"re\"}", "thing: field \"color\": expected red, green or blue" },
        { "{\"reps\":1,\"color\":1}", "thing: field \"color\": expected red, green or blue" },
        { "{\"reps\":1,\"spot\":[]}", "thing: field \"spot\": expected a map" },
        { "{\"reps\":1,\"spot\":{\"row\":10}}",
          "thing: field \"spot\": field \"row\": expected a whole number of at most 9" },
        { "{\"reps\":1,\"parts\":{}}",
          "thing: field \"parts\": expected a list of at most 2 items" },
        { "{\"reps\":1,\"parts\":[1,2,3]}",
          "thing: field \"parts\": expected a list of at most 2 items" },
        { "{\"reps\":1,\"parts\":[{\"name\":\"x\"},{}]}",
          "thing: field \"parts\": item 1: field \"name\" is missing" },
        { "{\"reps\":1,\"words\":[\"a\",2]}",
          "thing: field \"words\": item 1: expected text of at most 4096 bytes" },
        { "{\"reps\":1,\"words\":[\"a\",\"a\",\"a\",\"a\"]}",
          "thing: field \"words\": expected a list of at most 3 texts" },
        { "{\"reps\":1,\"!fence\":2}",
          "thing: unknown field \"!fence\", which a reader must know" },
    };
    struct arena *a = arena_create();
    struct thing t;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(decode_json(a, cases[i].json, &t), cases[i].error);
    arena_destroy(a);
}

static void bytes_of_another_length_are_refused(void **state)
{
    struct arena *a = arena_create();
    struct thing t;
    struct err e = { 0 };
    static const char too_long[] = "\x82\xa4reps\x01\xa4"
                                   "blob\xc4\x05"
                                   "12345";

    (void)state;
    assert_int_equal(schema_read(&thing_schema,
                                 (struct bytes){ (const uint8_t *)too_long, sizeof too_long - 1 },
                                 a, &t, &e),
                     -1);
    assert_string_equal(e.text, "thing: field \"blob\": expected at most 4 bytes");
    arena_destroy(a);
}

static void fields_may_come_in_any_order_with_strangers_between(void **state)
{
    struct arena *a = arena_create();
    struct thing t;

    (void)state;
    assert_string_equal(decode_json(a,
                                    "{\"words\":[\"x\"],\"new\":{\"deep\":[1]},\"title\":\"t\","
                                    "\"a\\u0000\":1,\"repsx\":1,\"rep\":1,\"reps\":3,\"\":2}",
                                    &t),
                        "");
    assert_int_equal(t.reps, 3);
    assert_string_equal(t.title, "t");
    assert_int_equal(t.words.n, 1);
    arena_destroy(a);
}

static void null_in_an_optional_field_means_absent(void **state)
{
    struct arena *a = arena_create();
    struct thing t;

    (void)state;
    assert_string_equal(decode_json(a, "{\"reps\":1,\"title\":null,\"exit_code\":null}", &t), "");
    assert_null(t.title);
    assert_true(t.exit_code == SCHEMA_NONE);
    arena_destroy(a);
}

static void whole_numbers_are_taken_for_floats(void **state)
{
    struct arena *a = arena_create();
    struct thing t;

    (void)state;
    assert_string_equal(decode_json(a, "{\"reps\":1,\"score\":2}", &t), "");
    assert_true(t.score == 2);
    arena_destroy(a);
}

static void bad_msgpack_names_the_message(void **state)
{
    struct arena *a = arena_create();
    struct thing t;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(
        schema_read(&thing_schema, (struct bytes){ (const uint8_t *)"\xc1", 1 }, a, &t, &e), -1);
    assert_string_equal(e.text, "thing: msgpack, byte 0: a byte that begins no value");
    assert_int_equal(e.kind, ERR_PROTOCOL);
    arena_destroy(a);
}

static void json_shows_every_field(void **state)
{
    static const char full[] =
        "{\"reps\":10000,\"on\":true,\"shift\":-100,\"exit_code\":0,\"score\":0.5,\"loss\":0.0,"
        "\"title\":\"\",\"blob\":\"000102\",\"token\":\"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\","
        "\"digest\":\"0000000000000000000000000000000000000000000000000000000000000001\","
        "\"color\":\"blue\",\"any\":1.0,\"spot\":{\"row\":0,\"value\":0},"
        "\"parts\":[{\"name\":\"one\",\"level\":1},{\"name\":\"two\",\"level\":null}],"
        "\"words\":[\"a\",\"\",\"c\"],\"at_ms\":\"2026-11-21T10:15:00Z\"}";
    struct thing t = full_thing();
    struct arena *a = arena_create();
    struct value v;
    struct buf b = { 0 };

    (void)state;
    schema_add_json(&thing_schema, &t, &b);
    assert_string_equal(buf_text(&b), full);
    t = (struct thing){ .exit_code = SCHEMA_NONE, .loss = (double)NAN };
    buf_clear(&b);
    schema_add_json(&thing_schema, &t, &b);
    assert_int_equal(json_read(buf_text(&b), b.n, a, &v, NULL), 0);
    assert_int_equal(v.map.n, sizeof thing_fields / sizeof thing_fields[0]);
    assert_int_equal(value_get(&v, "exit_code")->type, VALUE_NULL);
    assert_int_equal(value_get(&v, "loss")->type, VALUE_NULL);
    assert_int_equal(value_get(&v, "at_ms")->type, VALUE_NULL);
    assert_int_equal(value_get(&v, "title")->type, VALUE_NULL);
    assert_int_equal(value_get(&v, "shift")->i, 0);
    buf_free(&b);
    arena_destroy(a);
}

static void a_table_with_too_many_fields_is_a_bug(void **state)
{
    static struct field many[SCHEMA_FIELDS_MAX + 1];
    const struct schema s = { "many", sizeof(struct spot), many, SCHEMA_FIELDS_MAX + 1 };
    const struct value map = { .type = VALUE_MAP };
    struct spot to;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(schema_decode(&s, &map, NULL, &to, &e), -1);
    assert_int_equal(e.kind, ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_comes_back_as_it_was),
        cmocka_unit_test(absent_fields_are_not_sent_and_come_back_absent),
        cmocka_unit_test(zero_is_sent_where_absent_is_something_else),
        cmocka_unit_test(what_does_not_fit_is_refused_by_name),
        cmocka_unit_test(bytes_of_another_length_are_refused),
        cmocka_unit_test(fields_may_come_in_any_order_with_strangers_between),
        cmocka_unit_test(null_in_an_optional_field_means_absent),
        cmocka_unit_test(whole_numbers_are_taken_for_floats),
        cmocka_unit_test(bad_msgpack_names_the_message),
        cmocka_unit_test(json_shows_every_field),
        cmocka_unit_test(a_table_with_too_many_fields_is_a_bug),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* value.c - values: lookup, copies, equality, floats as text */
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
#include "common/data/value.h"

static struct value list_of(struct arena *a, size_t n, const struct value *items)
{
    struct value v = { .type = VALUE_LIST, .list = { .n = n } };

    v.list.items = arena_alloc(a, n * sizeof *items);
    memcpy(v.list.items, items, n * sizeof *items);
    return v;
}

static struct value map_of(struct arena *a, size_t n, const struct member *members)
{
    struct value v = { .type = VALUE_MAP, .map = { .n = n } };

    v.map.members = arena_alloc(a, n * sizeof *members);
    memcpy(v.map.members, members, n * sizeof *members);
    return v;
}

static struct value sample(struct arena *a)
{
    const struct value sizes[] = { value_int(64), value_float(0.5), value_null() };
    const struct member members[] = {
        { value_str("lr"), value_float(0.1) },
        { value_str("sizes"), list_of(a, 3, sizes) },
        { value_strn("a\0b", 3), value_strn("x\0y", 3) },
    };

    return map_of(a, 3, members);
}

static void floats_read_back_and_look_as_in_python(void **state)
{
    static const struct {
        double f;
        const char *text;
    } cases[] = {
        { 0.1, "0.1" },
        { 1, "1.0" },
        { -1.5, "-1.5" },
        { 0, "0.0" },
        { -0.0, "-0.0" },
        { 100000, "100000.0" },
        { 123456789.125, "123456789.125" },
        { 1e15, "1000000000000000.0" },
        { 9999999999999998, "9999999999999998.0" },
        { 1e16, "1e+16" },
        { 1.5e16, "1.5e+16" },
        { 1e22, "1e+22" },
        { 1e100, "1e+100" },
        { 0.0001, "0.0001" },
        { 0.00012345, "0.00012345" },
        { 0.00001, "1e-05" },
        { 1.25e-7, "1.25e-07" },
        { 1.0 / 3, "0.3333333333333333" },
        { 2.0 / 3, "0.6666666666666666" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 5e-324, "5e-324" },
        { 2.2250738585072014e-308, "2.2250738585072014e-308" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 0x1p-44, "5.684341886080802e-14" }, /* not the nearest of 16 digits */
        { 9007199254740992.0, "9007199254740992.0" },
        { (double)INFINITY, "inf" },
        { (double)-INFINITY, "-inf" },
        { (double)NAN, "nan" },
        { (double)-NAN, "nan" },
    };
    struct buf b = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&b);
        value_add_float(&b, cases[i].f);
        assert_string_equal(buf_text(&b), cases[i].text);
        if (!isnan(cases[i].f))
            assert_true(strtod(buf_text(&b), NULL) == cases[i].f);
    }
    buf_free(&b);
}

static void floats_read_back_whatever_their_bits(void **state)
{
    struct buf b = { 0 };
    uint64_t bits = 0x9e3779b97f4a7c15u;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        double f;

        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&f, &bits, sizeof f);
        if (!isfinite(f))
            continue;
        buf_clear(&b);
        value_add_float(&b, f);
        assert_true(strtod(buf_text(&b), NULL) == f);
        assert_non_null(strpbrk(buf_text(&b), ".e"));
    }
    buf_free(&b);
}

static void a_key_is_found_and_others_are_not(void **state)
{
    struct arena *a = arena_create();
    struct value map = sample(a);
    struct value one = value_int(1);

    (void)state;
    assert_true(value_get(&map, "lr") == &map.map.members[0].value);
    assert_int_equal(value_get(&map, "sizes")->list.n, 3);
    assert_null(value_get(&map, "l"));
    assert_null(value_get(&map, "lrs"));
    assert_null(value_get(&map, "a"));
    assert_null(value_get(&one, "lr"));
    arena_destroy(a);
}

static void a_copy_is_equal_and_stands_alone(void **state)
{
    struct arena *original_arena = arena_create();
    struct arena *a = arena_create();
    struct value original = sample(original_arena);
    struct value copy = value_copy(a, &original);
    struct value expected = sample(a);

    (void)state;
    assert_true(value_equal(&copy, &original));
    arena_destroy(original_arena);
    assert_true(value_equal(&copy, &expected));
    assert_memory_equal(copy.map.members[2].value.str.s, "x\0y", 4);
    arena_destroy(a);
}

static void equal_means_same_type_and_content(void **state)
{
    static const char text[] = "one", same_text[] = "one";
    const struct {
        struct value x, y;
        bool equal;
    } cases[] = {
        { value_null(), value_null(), true },
        { value_null(), value_bool(false), false },
        { value_bool(true), value_bool(true), true },
        { value_bool(true), value_bool(false), false },
        { value_int(1), value_int(1), true },
        { value_int(1), value_int(2), false },
        { value_int(1), value_float(1), false },
        { value_float(1), value_float(1), true },
        { value_float(0.0), value_float(-0.0), false },
        { value_float((double)NAN), value_float((double)-NAN), true },
        { value_float((double)NAN), value_float(1), false },
        { value_str(text), value_str(same_text), true },
        { value_str("one"), value_str("onE"), false },
        { value_str("one"), value_str("on"), false },
        { value_strn("a\0b", 3), value_strn("a\0c", 3), false },
        { value_str("1"), value_int(1), false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(value_equal(&cases[i].x, &cases[i].y), cases[i].equal);
        assert_int_equal(value_equal(&cases[i].y, &cases[i].x), cases[i].equal);
    }
}

static void lists_are_equal_in_order_and_maps_in_any(void **state)
{
    struct arena *a = arena_create();
    const struct value ab[] = { value_str("a"), value_str("b") };
    const struct value ba[] = { value_str("b"), value_str("a") };
    const struct member forth[] = { { ab[0], value_int(1) }, { ab[1], value_int(2) } };
    const struct member back[] = { { ab[1], value_int(2) }, { ab[0], value_int(1) } };
    const struct member other[] = { { ab[1], value_int(2) }, { ab[0], value_int(3) } };
    struct value lists[] = { list_of(a, 2, ab), list_of(a, 2, ba), list_of(a, 1, ab) };
    struct value maps[] = { map_of(a, 2, forth), map_of(a, 2, back), map_of(a, 2, other),
                            map_of(a, 1, forth) };

    (void)state;
    assert_false(value_equal(&lists[0], &lists[1]));
    assert_false(value_equal(&lists[0], &lists[2]));
    assert_true(value_equal(&maps[0], &maps[1]));
    assert_false(value_equal(&maps[0], &maps[2]));
    assert_false(value_equal(&maps[0], &maps[3]));
    arena_destroy(a);
}

static struct bytes key_at(const void *items, size_t i)
{
    const char *const *names = items;

    return (struct bytes){ (const uint8_t *)names[i], strlen(names[i]) };
}

static void the_first_repeated_key_is_found_among_few_and_many(void **state)
{
    enum { MANY = 1000 };
    static char names[MANY][16];
    const char *keys[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        keys[i] = names[i];
    }
    for (size_t n = 0; n <= MANY; n = n < 40 ? n + 1 : n * 5)
        assert_int_equal(value_find_repeated(keys, n, key_at), n);
    keys[17] = "k3";
    keys[15] = "k9";
    keys[900] = "k0";
    assert_int_equal(value_find_repeated(keys, 15, key_at), 15);
    assert_int_equal(value_find_repeated(keys, 20, key_at), 15);
    assert_int_equal(value_find_repeated(keys, MANY, key_at), 15);
}

static void text_for_people_has_no_quotes_around_strings(void **state)
{
    struct arena *a = arena_create();
    const struct value items[] = { value_str("x"), value_float(1), value_bool(true) };
    const struct {
        struct value v;
        const char *text;
    } cases[] = {
        { value_str("two words"), "two words" },
        { value_float(0.01), "0.01" },
        { value_int(-3), "-3" },
        { value_null(), "null" },
        { value_bool(false), "false" },
        { list_of(a, 3, items), "[\"x\",1.0,true]" },
    };
    struct buf b = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&b);
        json_add_text(&b, &cases[i].v);
        assert_string_equal(buf_text(&b), cases[i].text);
    }
    buf_free(&b);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_read_back_and_look_as_in_python),
        cmocka_unit_test(floats_read_back_whatever_their_bits),
        cmocka_unit_test(a_key_is_found_and_others_are_not),
        cmocka_unit_test(a_copy_is_equal_and_stands_alone),
        cmocka_unit_test(equal_means_same_type_and_content),
        cmocka_unit_test(lists_are_equal_in_order_and_maps_in_any),
        cmocka_unit_test(the_first_repeated_key_is_found_among_few_and_many),
        cmocka_unit_test(text_for_people_has_no_quotes_around_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

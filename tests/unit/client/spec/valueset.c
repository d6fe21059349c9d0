/* SPDX-License-Identifier: MIT */
/* valueset.c - tests of numbered values */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/spec/valueset.h"
#include "common/data/yaml.h"

static struct value parse(const char *text, struct arena *a)
{
    return yaml_value(yaml_parse("f", text, strlen(text), a, NULL), a);
}

static void values_are_the_same_when_configurations_are(void **state)
{
    static const struct {
        const char *x, *y;
        bool is_same;
    } cases[] = {
        { "1", "1.0", true },
        { "0.1", "1e-1", true },
        { "0", "-0.0", true },
        { "1", "'1'", false },
        { "true", "1", false },
        { "null", "''", false },
        { "abc", "'abc'", true },
        { "abc", "abcd", false },
        { "[1, 2]", "[1.0, 2.0]", true },
        { "[1, 2]", "[2, 1]", false },
        { "{a: 1, b: 2}", "{b: 2.0, a: 1}", true },
        { ".nan", ".nan", true },
        { ".inf", "-.inf", false },
        { "9007199254740993", "9007199254740992", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct value x = parse(cases[i].x, a), y = parse(cases[i].y, a);
        struct valueset s = { 0 };

        valueset_add(&s, &x);
        valueset_sort(&s);
        if ((valueset_find(&s, &y) == 0) != cases[i].is_same)
            fail_msg("%s and %s", cases[i].x, cases[i].y);
        valueset_free(&s);
        arena_destroy(a);
    }
}

static void each_value_has_a_number_of_its_own(void **state)
{
    enum { N = 100 };
    struct valueset s = { 0 };
    bool is_seen[N] = { false };

    (void)state;
    for (int i = 0; i < 2 * N; i++) {
        struct value v = i < N ? value_int(i) : value_float(i - N);

        valueset_add(&s, &v);
    }
    valueset_sort(&s);
    assert_int_equal(s.n, N);
    for (int i = 0; i < N; i++) {
        struct value v = value_int(i);
        int number = valueset_find(&s, &v);

        assert_in_range(number, 0, N - 1);
        assert_false(is_seen[number]);
        is_seen[number] = true;
    }
    assert_int_equal(valueset_find(&s, &(struct value){ .type = VALUE_INT, .i = N }),
                     VALUESET_NONE);
    valueset_free(&s);
}

static void an_empty_set_has_nothing(void **state)
{
    struct valueset s = { 0 };
    struct value v = value_null();

    (void)state;
    valueset_sort(&s);
    assert_int_equal(valueset_find(&s, &v), VALUESET_NONE);
    valueset_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_the_same_when_configurations_are),
        cmocka_unit_test(each_value_has_a_number_of_its_own),
        cmocka_unit_test(an_empty_set_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

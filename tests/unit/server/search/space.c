/* SPDX-License-Identifier: MIT */
/* space.c - tests of points that advisors give */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/data/json.h"
#include "server/search/space.h"

/* lr: a float; layers: an int; opt: a choice; momentum: a float, with sgd alone; fixed: 3 */
static struct search make_space(struct arena *a)
{
    struct space_param *p = arena_alloc(a, 5 * sizeof *p);
    struct value *choices = arena_alloc(a, 4 * sizeof *choices), *fixed = &choices[3];
    struct member when;

    choices[0] = value_str("adam");
    choices[1] = value_str("sgd");
    choices[2] = value_float(1);
    *fixed = value_int(3);
    when = value_member("opt", value_list(&choices[1], 1));
    p[0] = (struct space_param){ .name = "momentum", .kind = SPACE_FLOAT, .low = 0, .high = 1 };
    p[0].when = value_map(a, &when, 1);
    p[1] = (struct space_param){
        .name = "lr", .kind = SPACE_FLOAT, .low = 1e-4, .high = 1, .log = true
    };
    p[2] = (struct space_param){ .name = "layers", .kind = SPACE_INT, .first = 1, .last = 9 };
    p[3] = (struct space_param){ .name = "opt",
                                 .kind = SPACE_CHOICE,
                                 .values = value_list(choices, 3) };
    p[4] = (struct space_param){ .name = "k", .kind = SPACE_FIXED, .values = value_list(fixed, 1) };
    return (struct search){ .advisor = "a", .space = { p, 5 } };
}

static const struct {
    const char *point, *config, *error;
} cases[] = {
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": \"adam\"}}",
      "{\"lr\":0.5,\"layers\":2,\"opt\":\"adam\",\"k\":3}", NULL },
    { "{\"params\": {\"opt\": \"sgd\", \"layers\": 9.0, \"lr\": 1, \"momentum\": 0, \"k\": 3.0}}",
      "{\"momentum\":0.0,\"lr\":1.0,\"layers\":9,\"opt\":\"sgd\",\"k\":3}", NULL },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": 1, \"momentum\": 7}}",
      "{\"lr\":0.5,\"layers\":2,\"opt\":1.0,\"k\":3}", NULL },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": \"sgd\"}}", NULL,
      "momentum: it is missing in params of a point" },
    { "{\"params\": {\"lr\": 2, \"layers\": 2, \"opt\": \"adam\"}}", NULL,
      "lr: expected a number from 0.0001 to 1.0, found 2" },
    { "{\"params\": {\"lr\": NaN, \"layers\": 2, \"opt\": \"adam\"}}", NULL,
      "lr: expected a number from 0.0001 to 1.0, found NaN" },
    { "{\"params\": {\"lr\": \"0.5\", \"layers\": 2, \"opt\": \"adam\"}}", NULL,
      "lr: expected a number from 0.0001 to 1.0, found \"0.5\", a text" },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2.5, \"opt\": \"adam\"}}", NULL,
      "layers: expected a whole number from 1 to 9, found 2.5" },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 1e300, \"opt\": \"adam\"}}", NULL,
      "layers: expected a whole number" },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": \"lion\"}}", NULL,
      "opt: expected one of \"adam\", \"sgd\", 1.0, found \"lion\", a text" },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": \"adam\", \"k\": 4}}", NULL,
      "k: expected its only value 3, found 4" },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": \"adam\", \"z\": 4}}", NULL,
      "'z' is no parameter of the sweep" },
    { "{\"params\": 1}", NULL, "a point needs params: a map" },
    { "{\"params\": {}, \"until\": 7}", NULL, "and has no 'until' beside them" },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": \"adam\"}, \"from\": 0}", NULL,
      "from: expected the number of a configuration, found one below 1" },
    { "{\"params\": {\"lr\": 0.5, \"layers\": 2, \"opt\": \"adam\"}, \"from\": \"3\"}", NULL,
      "from: expected the number of a configuration, found text" },
};

static void test_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct search s = make_space(a);
        struct value point, config;
        struct buf json = { 0 };
        struct err e = { 0 };
        int64_t from;
        int rc;

        assert_int_equal(json_read(cases[i].point, strlen(cases[i].point), a, &point, NULL), 0);
        rc = space_take(&s, &point, a, &config, &from, &e);
        if (rc == 0)
            json_add_value(&json, &config);
        if (rc == 0 ? cases[i].config == NULL || strcmp(buf_text(&json), cases[i].config) != 0
                    : cases[i].error == NULL || strstr(e.text, cases[i].error) == NULL)
            fail_msg("%s: %s", cases[i].point, rc == 0 ? buf_text(&json) : e.text);
        buf_free(&json);
        arena_destroy(a);
    }
}

static void test_told(void **state)
{
    struct arena *a = arena_create();
    struct search s = make_space(a);
    struct buf json = { 0 };

    (void)state;
    space_add_json(&s, &json);
    assert_string_equal(
        buf_text(&json),
        "\"params\": {\"momentum\": {\"kind\": \"float\", \"low\": 0.0, \"high\": 1.0, "
        "\"log\": false, \"when\": {\"opt\":[\"sgd\"]}}, "
        "\"lr\": {\"kind\": \"float\", \"low\": 0.0001, \"high\": 1.0, \"log\": true}, "
        "\"layers\": {\"kind\": \"int\", \"low\": 1, \"high\": 9}, "
        "\"opt\": {\"kind\": \"choice\", \"choices\": [\"adam\",\"sgd\",1.0]}}, "
        "\"fixed\": {\"k\": 3}");
    buf_clear(&json);
    ((struct space_param *)s.space.items)[2].log = true;
    space_add_json(&s, &json);
    assert_non_null(strstr(buf_text(&json), "\"low\": 1, \"high\": 9, \"log\": true}"));
    buf_free(&json);
    arena_destroy(a);
}

static void test_check(void **state)
{
    struct arena *a = arena_create();
    struct search s = make_space(a);
    struct space_param *p = s.space.items;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(space_check(&s, &e), 0);
    p[2].last = 0;
    assert_int_equal(space_check(&s, &e), -1);
    assert_non_null(strstr(e.text, "layers"));
    p[2].last = 9;
    p[2].log = true;
    assert_int_equal(space_check(&s, &e), 0);
    p[2].first = 0;
    assert_int_equal(space_check(&s, &e), -1);
    p[2].first = 1;
    p[0].when.map.members[0].key = value_str("nobody");
    assert_int_equal(space_check(&s, &e), -1);
    /* A circle is found where it is followed. */
    p[0].when.map.members[0].key = value_str("momentum");
    assert_int_equal(space_check(&s, &e), 0);
    arena_destroy(a);
}

/* A line with points is taken in one turn of ludwigd's. */
static void test_large(void **state)
{
    enum { N = 1000 };
    struct arena *a = arena_create();
    struct search s = make_space(a);
    struct space_param *p = s.space.items, *many = arena_alloc(a, N * sizeof *many);
    struct value *choices = arena_alloc(a, 2 * SPACE_VALUES_MAX * sizeof *choices);
    struct err e = { 0 };

    (void)state;
    assert_true(space_points_at_once(&s) >= 500);
    for (size_t i = 0; i < 2 * SPACE_VALUES_MAX; i++)
        choices[i] = value_int((int64_t)i);
    p[3].values = value_list(choices, SPACE_VALUES_MAX - 10);
    assert_int_equal(space_check(&s, &e), 0);
    assert_in_range(space_points_at_once(&s), 400, 600);
    p[3].values = value_list(choices, SPACE_VALUES_MAX + 1);
    assert_int_equal(space_check(&s, &e), -1);
    assert_non_null(strstr(e.text, "at most 20000"));
    for (size_t i = 0; i < N; i++)
        many[i] = (struct space_param){ .name = arena_printf(a, "p%zu", i), .kind = SPACE_INT };
    s.space = (struct list){ many, N };
    assert_int_equal(space_check(&s, &e), 0);
    assert_in_range(space_points_at_once(&s), 1, 10);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

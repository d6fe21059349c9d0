/* SPDX-License-Identifier: MIT */
/* expand.c - tests of the configurations of a sweep, and of what is told of those that come to nothing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/spec/sample.h"
#include "common/data/param_digest.h"
#include "common/proto/jobspec.h"
#include "tests/unit/client_expand.h"

/* ---- which are refused ---- */

static void maps_of_more_than_fifteen_keys_change_their_size(void **state)
{
    struct buf text = { 0 };
    struct arena *a = arena_create();
    struct expand *x;
    char *lines;

    (void)state;
    buf_add_str(&text, "params:\n  sw: [1, 2]\n");
    for (int i = 0; i < 14; i++)
        buf_printf(&text, "  k%d: %d\n", i, i);
    buf_add_str(&text, "  c: [x, y]\nwhen: {c: {sw: 2}}\n");
    x = expand_from(buf_text(&text), a);
    lines = expand_lines(x);
    assert_int_equal(expand_count_lines(lines), 3);
    expand_check_seeking(buf_text(&text), x);
    assert_non_null(strstr(lines, "{\"sw\":1,\"k0\":0"));
    assert_non_null(strstr(lines, "\"k13\":13}\n{\"sw\":2"));
    assert_non_null(strstr(lines, "\"k13\":13,\"c\":\"y\"}\n"));
    free(lines);
    buf_free(&text);
    expand_destroy(x);
    arena_destroy(a);
}

static void check_refused(const char *text, int64_t points_max, const char *error)
{
    struct arena *a = arena_create();
    struct err e = { 0 };

    if (expand_create(plan_from(text, a), "f.yaml", points_max, &e) != NULL ||
        strcmp(e.text, error) != 0)
        fail_msg("%s\nsaid:     %s\nexpected: %s", text, e.text, error);
    assert_int_equal(e.kind, ERR_USAGE);
    arena_destroy(a);
}

static void too_many_configurations_are_refused(void **state)
{
    static const char large[] = "params:\n  a: {range: [1, 1000]}\n  b: {range: [1, 1000]}\n";
    static const char huge[] = "params: {a: &a {range: [1, 1000000]}, b: *a, c: *a, d: *a}\n";
    char *text = mem_printf("%s  c: {range: [1, 12]}\n", large);
    char *excluded = mem_printf("%s  c: {range: [1, 12]}\nexclude: [{c: 1}]\n", large);
    char *included = mem_printf("%s  c: {range: [1, 10]}\ninclude: [{a: 0, b: 0, c: 0}]\n", large);

    (void)state;
    check_refused(text, POINTS_MAX,
                  "f.yaml:1:1: 12000000 configurations: more than 10000000 need --yes");
    check_refused(excluded, POINTS_MAX,
                  "f.yaml:1:1: 12000000 configurations: more than 10000000 need --yes");
    check_refused(included, POINTS_MAX,
                  "f.yaml:1:1: 10000001 configurations: more than 10000000 need --yes");
    check_refused(huge, POINTS_MAX, "f.yaml:1:1: more than 10000000 configurations need --yes");
    check_refused(huge, INT64_C(1) << 40,
                  "f.yaml:1:1: more than 1099511627776 configurations are too many");
    check_refused("params: {a: [1, 2]}\nmethod: random\nsamples: 10000001\nexclude: [{a: 1}]\n",
                  POINTS_MAX,
                  "f.yaml:3:10: 10000001 configurations: more than 10000000 need --yes");
    check_refused("params: {a: [1, 2, 3, 4, 5]}\n", 4,
                  "f.yaml:1:1: 5 configurations: more than 4 need --yes");
    check_refused("params: {a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], b: *a, c: 1}\n"
                  "when: {c: {a: 1, b: 2}}\n",
                  20, "f.yaml:1:1: more than 20 configurations need --yes");
    free(text);
    free(excluded);
    free(included);
}

static char *first_of(const char *text)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct expand *x = expand_create(plan_from(text, a), "f", EXPAND_FIRST, &e);
    char *lines = x == NULL ? mem_strdup(e.text) : expand_lines(x);

    if (x != NULL)
        assert_int_equal(expand_count(x), 1);
    expand_destroy(x);
    arena_destroy(a);
    return lines;
}

static void the_first_alone_is_found_however_many_there_are(void **state)
{
#define HUGE_GRID "params: {a: &a {range: [1, 1000000]}, b: *a, c: *a, d: [1, 2]}\n"
    static const struct {
        const char *text, *first;
    } cases[] = {
        { "params: {a: [1, 2], b: 3}\n", "{\"a\":1,\"b\":3}\n" },
        { HUGE_GRID, "{\"a\":1,\"b\":1,\"c\":1,\"d\":1}\n" },
        { HUGE_GRID "exclude: [{a: 1}, {b: 1, d: 1}]\n", "{\"a\":2,\"b\":1,\"c\":1,\"d\":2}\n" },
        { "params: {a: [1, 2]}\nexclude: [{a: [1, 2]}]\ninclude: [{a: 7}, {a: 8}]\n",
          "{\"a\":7}\n" },
        { "params: {a: [1, 2]}\nexclude: [{a: [1, 2]}]\n",
          "f:2:11: exclude: nothing is left to be the first configuration" },
        { HUGE_GRID "exclude: [{d: [1, 2]}]\n",
          "f:2:11: exclude: nothing is left to be the first configuration" },
        { "params: {a: [1]}\nmethod: random\nsamples: 90000000\nexclude: [{a: 1}]\n",
          "f:4:11: exclude: nothing is left to be the first configuration" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *first = first_of(cases[i].text);

        if (strcmp(first, cases[i].first) != 0)
            fail_msg("%s\nfound: %s\n", cases[i].text, first);
        free(first);
    }
}

static void as_many_as_are_allowed_are_taken(void **state)
{
    struct arena *a = arena_create();
    const struct plan *p = plan_from("params: {a: [1, 2, 3, 4]}", a);
    struct expand *x = expand_create(p, "f", 4, NULL);

    (void)state;
    assert_non_null(x);
    expand_destroy(x);
    arena_destroy(a);
}

static void exclude_that_leaves_nothing_is_refused_at_its_place(void **state)
{
    (void)state;
    check_refused("params: {a: [1, 2]}\nexclude:\n  - {a: 1}\n  - {a: 2}\n", POINTS_MAX,
                  "f.yaml:3:5: exclude: nothing is left: it matches each of the 2 configurations");
    check_refused("params: {a: [1, 2], f: 0}\nexclude: [{f: 0}]\n", POINTS_MAX,
                  "f.yaml:2:11: exclude: nothing is left: it matches each of the 2 configurations");
    check_refused("params: {a: [1, 2], f: 0}\nmethod: random\nsamples: 7\nexclude: [{f: 0}]\n",
                  POINTS_MAX,
                  "f.yaml:4:11: exclude: nothing is left: it matches each of the 7 configurations");
}

static void a_configuration_that_no_message_can_hold_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct expand *x;

    (void)state;
    buf_add_str(&text, "params:\n  x: [a, b, ");
    for (int i = 0; i < PARAM2VAL_MAX_BYTES; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "]\n");
    check_refused(buf_text(&text), POINTS_MAX,
                  "f.yaml: params: one configuration takes more than 1048576 bytes; put large "
                  "values into a file of data:");
    text.n -= 102;
    text.bytes[text.n] = '\0';
    buf_add_str(&text, "]\n");
    x = expand_from(buf_text(&text), a);
    assert_int_equal(expand_count(x), 3);
    expand_destroy(x);
    text.n = strlen("params:\n  x: ");
    text.bytes[text.n] = '\0';
    buf_add_str(&text, "1\ninclude: [{x: ");
    for (int i = 0; i < PARAM2VAL_MAX_BYTES; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "}]\n");
    check_refused(buf_text(&text), POINTS_MAX,
                  "f.yaml: params: one configuration takes more than 1048576 bytes; put large "
                  "values into a file of data:");
    buf_free(&text);
    arena_destroy(a);
}

static void a_configuration_that_is_nested_too_deep_is_refused(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct expand *x;

    (void)state;
    buf_add_str(&text, "params:\n  x: 1\n  y: [1, ");
    for (int i = 1; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_char(&text, '[');
    for (int i = 1; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_char(&text, ']');
    buf_add_str(&text, "]\n");
    x = expand_from(buf_text(&text), a);
    assert_int_equal(expand_count(x), 2);
    expand_destroy(x);
    text.n -= 2;
    buf_add_str(&text, ", [[");
    for (int i = 2; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_str(&text, "[");
    for (int i = 0; i < PARAM2VAL_DEPTH_MAX; i++)
        buf_add_char(&text, ']');
    buf_add_str(&text, "]\n");
    check_refused(buf_text(&text), POINTS_MAX,
                  "f.yaml: params: y: a configuration may be nested 24 deep at most");
    buf_free(&text);
    arena_destroy(a);
}

/* ---- in which order ---- */

static void check_points(const char *text, const char *points)
{
    struct arena *a = arena_create();
    struct expand *x = expand_from(text, a);
    char *lines = expand_lines(x);

    if (strcmp(lines, points) != 0)
        fail_msg("%s\ngave:\n%s\nexpected:\n%s", text, lines, points);
    assert_int_equal(expand_count(x), expand_count_lines(lines));
    expand_check_seeking(text, x);
    free(lines);
    expand_destroy(x);
    arena_destroy(a);
}

/* ---- grids ---- */

static void the_last_parameter_turns_fastest(void **state)
{
    (void)state;
    check_points("params: {a: [0.5, -9223372036854775808], b: adam, c: [0, 1, 2]}",
                 "{\"a\":0.5,\"b\":\"adam\",\"c\":0}\n"
                 "{\"a\":0.5,\"b\":\"adam\",\"c\":1}\n"
                 "{\"a\":0.5,\"b\":\"adam\",\"c\":2}\n"
                 "{\"a\":-9223372036854775808,\"b\":\"adam\",\"c\":0}\n"
                 "{\"a\":-9223372036854775808,\"b\":\"adam\",\"c\":1}\n"
                 "{\"a\":-9223372036854775808,\"b\":\"adam\",\"c\":2}\n");
}

static void without_parameters_there_is_one_configuration(void **state)
{
    (void)state;
    check_points("params: {}", "{}\n");
    check_points("params: {a: 1, b: {value: [1, {c: null}]}}",
                 "{\"a\":1,\"b\":[1,{\"c\":null}]}\n");
}

static void zipped_parameters_turn_as_one(void **state)
{
    (void)state;
    check_points("params: {x: [1, 2], a: [3, 4], y: [5, 6], b: [7, 8]}\nzip: [[b, x]]\n",
                 "{\"x\":1,\"a\":3,\"y\":5,\"b\":7}\n"
                 "{\"x\":1,\"a\":3,\"y\":6,\"b\":7}\n"
                 "{\"x\":1,\"a\":4,\"y\":5,\"b\":7}\n"
                 "{\"x\":1,\"a\":4,\"y\":6,\"b\":7}\n"
                 "{\"x\":2,\"a\":3,\"y\":5,\"b\":8}\n"
                 "{\"x\":2,\"a\":3,\"y\":6,\"b\":8}\n"
                 "{\"x\":2,\"a\":4,\"y\":5,\"b\":8}\n"
                 "{\"x\":2,\"a\":4,\"y\":6,\"b\":8}\n");
    check_points("params: {x: {range: [1, 3]}, a: [p, q, r], y: {linspace: [0, 1, 3]}}\n"
                 "zip: [[x, a, y]]\n",
                 "{\"x\":1,\"a\":\"p\",\"y\":0.0}\n"
                 "{\"x\":2,\"a\":\"q\",\"y\":0.5}\n"
                 "{\"x\":3,\"a\":\"r\",\"y\":1.0}\n");
}

static void a_parameter_with_a_condition_is_there_only_where_that_is_met(void **state)
{
    (void)state;
    check_points("params: {momentum: [0.8, 0.9], optimizer: [sgd, adam], lr: [1, 2]}\n"
                 "when: {momentum: {optimizer: sgd}}\n",
                 "{\"momentum\":0.8,\"optimizer\":\"sgd\",\"lr\":1}\n"
                 "{\"momentum\":0.8,\"optimizer\":\"sgd\",\"lr\":2}\n"
                 "{\"momentum\":0.9,\"optimizer\":\"sgd\",\"lr\":1}\n"
                 "{\"momentum\":0.9,\"optimizer\":\"sgd\",\"lr\":2}\n"
                 "{\"optimizer\":\"adam\",\"lr\":1}\n"
                 "{\"optimizer\":\"adam\",\"lr\":2}\n");
    check_points("params: {a: [1, 2, 3], b: 7, c: [x, y]}\n"
                 "when: {b: {a: [1, 3.0]}, c: {b: 7, a: 3}}\n",
                 "{\"a\":1,\"b\":7}\n"
                 "{\"a\":2}\n"
                 "{\"a\":3,\"b\":7,\"c\":\"x\"}\n"
                 "{\"a\":3,\"b\":7,\"c\":\"y\"}\n");
    check_points("params: {a: [{value: 1}, [1, 2]], b: [5, 6]}\n"
                 "when: {b: {a: {value: [1, 2]}}}\n",
                 "{\"a\":{\"value\":1}}\n"
                 "{\"a\":[1,2],\"b\":5}\n"
                 "{\"a\":[1,2],\"b\":6}\n");
    check_points("params: {a: 1, b: [5, 6]}\nwhen: {b: {a: 2}}\n", "{\"a\":1}\n");
}

static void a_pin_on_what_is_absent_does_not_match(void **state)
{
    (void)state;
    check_points("params: {a: [1, 2], b: [3], c: [4, 5]}\n"
                 "when: {b: {a: 1}, c: {b: 3}}\nexclude: [{b: 3, c: 4}]\n",
                 "{\"a\":1,\"b\":3,\"c\":5}\n"
                 "{\"a\":2}\n");
}

static void what_exclude_matches_is_left_out(void **state)
{
    (void)state;
    check_points("params: {a: [1, 2, 3], f: 9, b: [x, y]}\n"
                 "exclude: [{a: 1.0, b: y}, {a: [3, 4], f: 9}, {f: 8}]\n",
                 "{\"a\":1,\"f\":9,\"b\":\"x\"}\n"
                 "{\"a\":2,\"f\":9,\"b\":\"x\"}\n"
                 "{\"a\":2,\"f\":9,\"b\":\"y\"}\n");
    check_points("params: {a: [1, 2], b: [3, 4]}\nzip: [[a, b]]\nexclude: [{b: 3}]\n",
                 "{\"a\":2,\"b\":4}\n");
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
        char *text =
            mem_printf("params: {a: [%s, 77]}\nexclude: [{a: [%s, 78]}]\n", cases[i].x, cases[i].y);
        struct arena *a = arena_create();
        struct expand *x = expand_from(text, a);

        if ((expand_count(x) == 1) != cases[i].is_same)
            fail_msg("%s and %s", cases[i].x, cases[i].y);
        expand_destroy(x);
        arena_destroy(a);
        free(text);
    }
}

static void include_adds_configurations_behind_the_others(void **state)
{
    (void)state;
    check_points("params: {a: [1, 2], b: [3, 4], f: 5}\n"
                 "exclude: [{a: 1}, {a: 9}]\n"
                 "include: [{a: 9}, {a: 8, b: 7, f: 6}, {f: {value: [0]}, b: null}]\n",
                 "{\"a\":2,\"b\":3,\"f\":5}\n"
                 "{\"a\":2,\"b\":4,\"f\":5}\n"
                 "{\"a\":9,\"b\":3,\"f\":5}\n"
                 "{\"a\":9,\"b\":4,\"f\":5}\n"
                 "{\"a\":8,\"b\":7,\"f\":6}\n"
                 "{\"a\":1,\"b\":null,\"f\":[0]}\n"
                 "{\"a\":2,\"b\":null,\"f\":[0]}\n");
}

static void include_obeys_conditions_and_groups(void **state)
{
    (void)state;
    check_points("params: {opt: [sgd], mom: [1, 2], g: 3}\n"
                 "when: {mom: {opt: [sgd, lars]}, g: {mom: 7}}\n"
                 "include: [{opt: adam}, {opt: lars}, {mom: 7}]\n",
                 "{\"opt\":\"sgd\",\"mom\":1}\n"
                 "{\"opt\":\"sgd\",\"mom\":2}\n"
                 "{\"opt\":\"adam\"}\n"
                 "{\"opt\":\"lars\",\"mom\":1}\n"
                 "{\"opt\":\"lars\",\"mom\":2}\n"
                 "{\"opt\":\"sgd\",\"mom\":7,\"g\":3}\n");
    check_points("params: {a: [1, 2], c: [0], b: [3, 4]}\nzip: [[a, b]]\n"
                 "include: [{b: 4.0}, {a: 7, b: 8}, {c: 5}]\n",
                 "{\"a\":1,\"c\":0,\"b\":3}\n"
                 "{\"a\":2,\"c\":0,\"b\":4}\n"
                 "{\"a\":2,\"c\":0,\"b\":4.0}\n"
                 "{\"a\":7,\"c\":0,\"b\":8}\n"
                 "{\"a\":1,\"c\":5,\"b\":3}\n"
                 "{\"a\":2,\"c\":5,\"b\":4}\n");
}

static void include_alone_may_be_all_there_is(void **state)
{
    (void)state;
    check_points("params: {a: [1, 2]}\nexclude: [{a: [1, 2]}]\ninclude: [{a: 3}]\n", "{\"a\":3}\n");
}

static void large_grids_are_counted_without_walking(void **state)
{
    static const char text[] = "params: {a: &a {range: [1, 1048576]}, b: *a, c: [x, y]}\n"
                               "when: {c: {a: [5, 7]}}\n";
    struct arena *a = arena_create();
    const struct plan *p = plan_from(text, a);
    struct expand *x = expand_create(p, "f", INT64_C(1) << 42, NULL);
    int64_t n = (INT64_C(1) << 40) + (INT64_C(2) << 20);
    struct buf point = { 0 };
    struct value v;

    (void)state;
    assert_non_null(x);
    assert_int_equal(expand_count(x), n);
    expand_seek(x, n - 1);
    assert_true(expand_next(x, &point));
    v = expand_read(&point, a);
    assert_int_equal(value_get(&v, "a")->i, 1048576);
    assert_int_equal(value_get(&v, "b")->i, 1048576);
    assert_null(value_get(&v, "c"));
    assert_false(expand_next(x, &point));
    buf_clear(&point);
    expand_seek(x, (INT64_C(4) << 20) + 3); /* behind four blocks; the fifth alternates */
    assert_true(expand_next(x, &point));
    v = expand_read(&point, a);
    assert_int_equal(value_get(&v, "a")->i, 5);
    assert_int_equal(value_get(&v, "b")->i, 2);
    assert_string_equal(value_get(&v, "c")->str.s, "y");
    buf_free(&point);
    expand_destroy(x);
    arena_destroy(a);
}

/* ---- against counting by brute force ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * UINT32_C(1664525) + UINT32_C(1013904223);
    return *seed >> 16;
}

enum { MODEL_PARAMS = 6, MODEL_VALUES = 3 };

/* A sweep of parameters p0 to p5 with values from 0, made at random. */
struct model {
    int n_values[MODEL_PARAMS];
    int condition_on[MODEL_PARAMS]; /* -1: none */
    int condition_value[MODEL_PARAMS];
    int exclude[2][2][2]; /* entries of two pins: parameter, value */
    int n_exclude;
};

static void make_model(struct model *m, uint32_t *seed)
{
    int order[MODEL_PARAMS];

    for (int i = 0; i < MODEL_PARAMS; i++) {
        order[i] = i;
        m->n_values[i] = 1 + (int)(next_random(seed) % MODEL_VALUES);
        m->condition_on[i] = -1;
    }
    for (int i = MODEL_PARAMS - 1; i > 0; i--) { /* shuffled, so that conditions point anywhere */
        int k = (int)(next_random(seed) % (unsigned)(i + 1)), swapped = order[i];

        order[i] = order[k];
        order[k] = swapped;
    }
    for (int i = 1; i < MODEL_PARAMS; i++)
        if (next_random(seed) % 2 == 0) {
            m->condition_on[order[i]] = order[next_random(seed) % (unsigned)i];
            m->condition_value[order[i]] = (int)(next_random(seed) % MODEL_VALUES);
        }
    m->n_exclude = (int)(next_random(seed) % 3);
    for (int i = 0; i < m->n_exclude; i++)
        for (int k = 0; k < 2; k++) {
            m->exclude[i][k][0] = (int)(next_random(seed) % (MODEL_PARAMS / 2)) * 2 + k;
            m->exclude[i][k][1] = (int)(next_random(seed) % MODEL_VALUES);
        }
}

static char *model_text(const struct model *m)
{
    struct buf text = { 0 };

    buf_add_str(&text, "params:\n");
    for (int i = 0; i < MODEL_PARAMS; i++) {
        if (m->n_values[i] == 1) {
            buf_printf(&text, "  p%d: 0\n", i);
            continue;
        }
        buf_printf(&text, "  p%d: [0", i);
        for (int k = 1; k < m->n_values[i]; k++)
            buf_printf(&text, ", %d", k);
        buf_add_str(&text, "]\n");
    }
    buf_add_str(&text, "when:\n");
    for (int i = 0; i < MODEL_PARAMS; i++)
        if (m->condition_on[i] >= 0)
            buf_printf(&text, "  p%d: {p%d: %d}\n", i, m->condition_on[i], m->condition_value[i]);
    buf_add_str(&text, "exclude:\n");
    for (int i = 0; i < m->n_exclude; i++)
        buf_printf(&text, "  - {p%d: %d, p%d: %d}\n", m->exclude[i][0][0], m->exclude[i][0][1],
                   m->exclude[i][1][0], m->exclude[i][1][1]);
    return buf_take(&text);
}

static bool model_has(const struct model *m, const int *values, int i)
{
    int other = m->condition_on[i];

    return other < 0 || (model_has(m, values, other) && values[other] == m->condition_value[i]);
}

static bool model_excludes(const struct model *m, const int *values)
{
    for (int i = 0; i < m->n_exclude; i++) {
        int n_met = 0;

        for (int k = 0; k < 2; k++) {
            int p = m->exclude[i][k][0];

            n_met += model_has(m, values, p) && values[p] == m->exclude[i][k][1];
        }
        if (n_met == 2)
            return true;
    }
    return false;
}

/* Of the values in the product of all lists: each configuration once, where the absent are 0. */
static int64_t model_count(const struct model *m, int *values, int i, struct buf *lines)
{
    int64_t n = 0;

    if (i < MODEL_PARAMS) {
        for (values[i] = 0; values[i] < m->n_values[i]; values[i]++)
            n += model_count(m, values, i + 1, lines);
        return n;
    }
    for (int k = 0; k < MODEL_PARAMS; k++)
        if (!model_has(m, values, k) && values[k] != 0)
            return 0;
    if (model_excludes(m, values))
        return 0;
    buf_add_char(lines, '{');
    for (int k = 0, n_there = 0; k < MODEL_PARAMS; k++)
        if (model_has(m, values, k))
            buf_printf(lines, "%s\"p%d\":%d", n_there++ > 0 ? "," : "", k, values[k]);
    buf_add_str(lines, "}\n");
    return 1;
}

static void check_each_line_is_in(const char *text, const char *lines, const char *all)
{
    while (*lines != '\0') {
        size_t n = strcspn(lines, "\n") + 1;
        char *line = mem_strndup(lines, n);
        const char *found = strstr(all, line);

        if (found == NULL || strstr(found + 1, line) != NULL)
            fail_msg("%s\nmissing or twice: %s", text, line);
        free(line);
        lines += n;
    }
}

static void random_conditions_give_what_brute_force_gives(void **state)
{
    uint32_t seed = 20;
    int n_left = 0;

    (void)state;
    for (int i = 0; i < 400; i++) {
        struct arena *a = arena_create();
        int values[MODEL_PARAMS] = { 0 };
        struct buf expected = { 0 };
        struct err e = { 0 };
        struct model m;
        struct expand *x;
        int64_t n;
        char *text;

        make_model(&m, &seed);
        text = model_text(&m);
        n = model_count(&m, values, 0, &expected);
        x = expand_create(plan_from(text, a), "f", POINTS_MAX, &e);
        if (x == NULL) {
            assert_int_equal(n, 0);
            assert_non_null(strstr(e.text, "nothing is left"));
        } else {
            char *lines = expand_lines(x);

            if (expand_count(x) != n || expand_count_lines(lines) != n)
                fail_msg("%s\n%lld instead of %lld", text, (long long)expand_count(x),
                         (long long)n);
            check_each_line_is_in(text, lines, buf_text(&expected));
            expand_check_seeking(text, x);
            n_left++;
            free(lines);
        }
        buf_free(&expected);
        free(text);
        expand_destroy(x);
        arena_destroy(a);
    }
    assert_true(n_left > 300);
}

/* ---- samples ---- */

static const char mixed_text[] = "params:\n"
                                 "  lr: {log_uniform: [1e-5, 1e-1]}\n"
                                 "  momentum: {uniform: [0.5, 1]}\n"
                                 "  optimizer: [sgd, adam, rmsprop]\n"
                                 "  layers: {int_uniform: [1, 12]}\n"
                                 "  noise: {normal: [0, 0.1]}\n"
                                 "  act: {choice: [relu, tanh, null]}\n"
                                 "  size: {range: [16, 64, 16]}\n"
                                 "  batch: [1, 2, 4, 8]\n"
                                 "  epochs: 10\n"
                                 "  warmup: 5\n"
                                 "zip: [[size, batch]]\n"
                                 "when:\n"
                                 "  momentum: {optimizer: sgd}\n"
                                 "  warmup: {layers: [6, 7, 8, 9, 10, 11, 12]}\n"
                                 "exclude:\n"
                                 "  - {optimizer: rmsprop, act: tanh}\n"
                                 "  - {layers: 1}\n"
                                 "include:\n"
                                 "  - {optimizer: lars}\n"
                                 "  - {size: 32, lr: 0.5}\n"
                                 "seed: 7\n";

static char *sampled_text(const char *method, int samples)
{
    return mem_printf("%smethod: %s\nsamples: %d\n", mixed_text, method, samples);
}

/*
 * The first thousand configurations, byte for byte.  Who changes these changes what everybody's
 * sweeps with method: random or sobol mean: the same file and seed give other configurations.
 */
static void samples_are_the_same_for_ever(void **state)
{
    static const struct {
        const char *method, *digest;
    } cases[] = {
        { "random", "6ead26ce298804aaa10989b81dff7c20fdae30532f0eb598e256a2dd0f7d4be5" },
        { "sobol", "306706beacf85975403ab7eb7940f197160b671ef58b2e543dfd7ce33a2d253c" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        char *text = sampled_text(cases[i].method, 1300), hex[DIGEST_HEX];
        struct expand *x = expand_from(text, a);
        struct buf points = { 0 };
        struct digest d;

        for (int k = 0; k < 1000; k++)
            assert_true(expand_next(x, &points));
        digest_of(points.bytes, points.n, &d);
        digest_hex(&d, hex);
        assert_string_equal(hex, cases[i].digest);
        buf_free(&points);
        free(text);
        expand_destroy(x);
        arena_destroy(a);
    }
}

static void check_sampled_seeking(const char *text)
{
    struct arena *a = arena_create();
    struct expand *x = expand_from(text, a);
    char *lines = expand_lines(x);

    assert_int_equal(expand_count_lines(lines), expand_count(x));
    assert_in_range(expand_count(x), 30, 62);
    expand_check_seeking(text, x);
    free(lines);
    expand_destroy(x);
    arena_destroy(a);
}

static void samples_can_be_sought(void **state)
{
    static const char *const methods[] = { "random", "sobol" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *text = sampled_text(methods[i], 60);

        check_sampled_seeking(text);
        free(text);
        text = mem_printf("params: {a: [1, 2, 3], b: {uniform: [0, 1]}, c: {choice: [4, 5]}}\n"
                          "method: %s\nsamples: 60\nwhen: {b: {a: 1}}\n",
                          methods[i]);
        check_sampled_seeking(text);
        free(text);
    }
}

/* What zip, when and exclude say of one of mixed_text. */
static void check_mixed(const struct value *v, bool is_included)
{
    const struct value *size = value_get(v, "size"), *batch = value_get(v, "batch");
    const char *optimizer = value_get(v, "optimizer")->str.s;
    const struct value *act = value_get(v, "act");
    int64_t layers = value_get(v, "layers")->i;

    assert_int_equal(size->i, 16 * (batch->i == 8 ? 4 : batch->i == 4 ? 3 : batch->i));
    assert_int_equal(value_get(v, "momentum") != NULL, strcmp(optimizer, "sgd") == 0);
    assert_int_equal(value_get(v, "warmup") != NULL, layers >= 6);
    assert_in_range(layers, 1, 12);
    assert_int_equal(value_get(v, "epochs")->i, 10);
    if (is_included)
        return;
    assert_true(layers > 1);
    assert_false(strcmp(optimizer, "rmsprop") == 0 && act->type == VALUE_STR &&
                 strcmp(act->str.s, "tanh") == 0);
}

static void samples_obey_zip_when_exclude_and_include(void **state)
{
    static const char *const methods[] = { "random", "sobol" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct arena *a = arena_create();
        char *text = sampled_text(methods[i], 1000);
        struct expand *x = expand_from(text, a);
        int64_t n = expand_count(x);
        struct buf point = { 0 };

        assert_in_range(n, 2 + 1000 * 76 / 100, 2 + 1000 * 88 / 100); /* 8/9 * 11/12 */
        for (int64_t k = 0; expand_next(x, &point); k++) {
            struct value v = expand_read(&point, a);

            check_mixed(&v, k >= n - 2);
            if (k == n - 2)
                assert_string_equal(value_get(&v, "optimizer")->str.s, "lars");
            if (k == n - 1) {
                assert_true(value_get(&v, "lr")->f == 0.5);
                assert_int_equal(value_get(&v, "batch")->i, 2);
            }
            buf_clear(&point);
        }
        buf_free(&point);
        free(text);
        expand_destroy(x);
        arena_destroy(a);
    }
}

/* The values of one parameter in all configurations. */
static char *column_of(const char *text, const char *name)
{
    struct arena *a = arena_create();
    struct expand *x = expand_from(text, a);
    struct buf point = { 0 }, column = { 0 };

    while (expand_next(x, &point)) {
        struct value v = expand_read(&point, a);

        json_add_value(&column, value_get(&v, name));
        buf_add_char(&column, '\n');
        buf_clear(&point);
    }
    buf_free(&point);
    expand_destroy(x);
    arena_destroy(a);
    return buf_take(&column);
}

static void a_parameters_draws_do_not_depend_on_the_others(void **state)
{
    static const struct {
        const char *text, *name;
        bool is_same;
    } cases[] = {
        { "params: {a: {uniform: [0, 1]}, z: [1, 2, 3]}\nmethod: random\nsamples: 50\n", "a",
          true },
        { "params: {z: [1, 2, 3], y: {normal: [0, 1]}, a: {uniform: [0, 1]}}\n"
          "method: random\nsamples: 50\nwhen: {y: {z: 1}}\n",
          "a", true },
        { "params: {b: {uniform: [0, 1]}}\nmethod: random\nsamples: 50\n", "b", false },
        { "params: {a: {uniform: [0, 1]}}\nmethod: random\nsamples: 50\nseed: 1\n", "a", false },
        { "params: {a: {uniform: [0, 1]}}\nmethod: sobol\nsamples: 50\n", "a", false },
    };
    char *alone = column_of("params: {a: {uniform: [0, 1]}}\nmethod: random\nsamples: 50\n", "a");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *column = column_of(cases[i].text, cases[i].name);

        if ((strcmp(column, alone) == 0) != cases[i].is_same)
            fail_msg("%s", cases[i].text);
        free(column);
    }
    free(alone);
}

static void more_samples_begin_with_the_same(void **state)
{
    char *few = column_of("params: {a: [1, 2, 3, 4, 5]}\nmethod: sobol\nsamples: 20\n", "a");
    char *many = column_of("params: {a: [1, 2, 3, 4, 5]}\nmethod: sobol\nsamples: 40\n", "a");

    (void)state;
    assert_memory_equal(few, many, strlen(few));
    assert_int_equal(expand_count_lines(many), 40);
    free(few);
    free(many);
}

static void include_is_drawn_as_the_samples_behind_the_last(void **state)
{
    static const char params[] = "params: {a: {uniform: [0, 1]}, f: 1}\nmethod: random\n";
    char *included = mem_printf("%ssamples: 3\ninclude: [{f: 2}, {f: 3}]\n", params);
    char *sampled = mem_printf("%ssamples: 5\n", params);
    char *x = column_of(included, "a"), *y = column_of(sampled, "a");

    (void)state;
    assert_string_equal(x, y);
    free(included);
    free(sampled);
    free(x);
    free(y);
}

/* Each pair of values of two lists of four equally often, as a grid would have them. */
static void sobol_spreads_over_pairs_of_lists(void **state)
{
    struct arena *a = arena_create();
    struct expand *x = expand_from("params: {a: [0, 1, 2, 3], b: [0, 1, 2, 3]}\n"
                                   "method: sobol\nsamples: 64\nseed: 5\n",
                                   a);
    struct buf point = { 0 };
    int pairs[4][4] = { { 0 } };

    (void)state;
    while (expand_next(x, &point)) {
        struct value v = expand_read(&point, a);

        pairs[value_get(&v, "a")->i][value_get(&v, "b")->i]++;
        buf_clear(&point);
    }
    for (int i = 0; i < 16; i++)
        assert_int_equal(pairs[i / 4][i % 4], 4);
    buf_free(&point);
    expand_destroy(x);
    arena_destroy(a);
}

/* ---- what is told ---- */

static void what_when_drops_from_include_is_told(void **state)
{
#define MOMENTUM "params: {opt: [adam, sgd], momentum: [0.8]}\nwhen: {momentum: {opt: sgd}}\n"
    static const char dropped[] =
        "include: momentum: 0.9 is dropped where when: leaves momentum out\n";
    static const struct {
        const char *text, *notes;
    } cases[] = {
        { MOMENTUM "include: [{opt: sgd, momentum: 0.9}, {opt: adam}]\n", "" },
        { MOMENTUM "include: [{momentum: 0.9}]\n", dropped },
        { "params: {opt: [sgd, sgd], momentum: [0.8]}\nwhen: {momentum: {opt: sgd}}\n"
          "include: [{momentum: 0.9}]\n",
          "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct expand *x = expand_from(cases[i].text, a);
        struct buf notes = { 0 };

        expand_add_notes(x, &notes);
        assert_string_equal(buf_text(&notes), cases[i].notes);
        buf_free(&notes);
        expand_destroy(x);
        arena_destroy(a);
    }
}

static void check_notes(const char *text, const char *expected)
{
    struct arena *a = arena_create();
    struct expand *x = expand_from(text, a);
    struct buf notes = { 0 };

    expand_count(x);
    expand_add_notes(x, &notes);
    if (strcmp(buf_text(&notes), expected) != 0)
        fail_msg("%s\nsaid:     %s\nexpected: %s", text, buf_text(&notes), expected);
    buf_free(&notes);
    expand_destroy(x);
    arena_destroy(a);
}

static void what_matches_nothing_is_noted(void **state)
{
    (void)state;
    check_notes("params: {a: [1, 2], b: x}\nexclude: [{a: 1}]\nwhen: {b: {a: 1}}\n", "");
    check_notes("params: {lr: [1, 2]}\nexclude: [{lr: 0.3}, {lr: 1}]\n",
                "exclude: {lr: 0.3} matches no configuration\n");
    check_notes("params: {a: [1, 2], b: [x, y], c: 1}\n"
                "exclude: [{a: 1, b: [z, \"q\\n\", null]}, {c: {value: [1]}}]\n",
                "exclude: {a: 1, b: [z, \"q\\n\", null]} matches no configuration\n"
                "exclude: {c: [1]} matches no configuration\n");
    check_notes("params: {m: [1, 2], opt: [sgd, adam]}\nwhen: {m: {opt: [sdg, adm]}}\n",
                "when: m: {opt: [sdg, adm]} matches no configuration\n");
    check_notes("params: {m: [1, 2], opt: [sgd, adam]}\nwhen: {m: {opt: lars}}\n"
                "include: [{opt: lars}]\n",
                "");
    check_notes("params: {m: [1, 2], u: {uniform: [0, 1]}, c: {choice: [1, 2]}}\n"
                "when: {m: {u: 0.5, c: 2}}\nmethod: random\nsamples: 3\nexclude: [{u: 0.5}]\n",
                "exclude: {u: 0.5} matches no configuration\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_of_more_than_fifteen_keys_change_their_size),
        cmocka_unit_test(too_many_configurations_are_refused),
        cmocka_unit_test(as_many_as_are_allowed_are_taken),
        cmocka_unit_test(the_first_alone_is_found_however_many_there_are),
        cmocka_unit_test(exclude_that_leaves_nothing_is_refused_at_its_place),
        cmocka_unit_test(a_configuration_that_no_message_can_hold_is_refused),
        cmocka_unit_test(a_configuration_that_is_nested_too_deep_is_refused),
        cmocka_unit_test(the_last_parameter_turns_fastest),
        cmocka_unit_test(without_parameters_there_is_one_configuration),
        cmocka_unit_test(zipped_parameters_turn_as_one),
        cmocka_unit_test(a_parameter_with_a_condition_is_there_only_where_that_is_met),
        cmocka_unit_test(a_pin_on_what_is_absent_does_not_match),
        cmocka_unit_test(what_exclude_matches_is_left_out),
        cmocka_unit_test(values_are_the_same_when_configurations_are),
        cmocka_unit_test(include_adds_configurations_behind_the_others),
        cmocka_unit_test(include_obeys_conditions_and_groups),
        cmocka_unit_test(include_alone_may_be_all_there_is),
        cmocka_unit_test(random_conditions_give_what_brute_force_gives),
        cmocka_unit_test(samples_are_the_same_for_ever),
        cmocka_unit_test(samples_can_be_sought),
        cmocka_unit_test(samples_obey_zip_when_exclude_and_include),
        cmocka_unit_test(a_parameters_draws_do_not_depend_on_the_others),
        cmocka_unit_test(more_samples_begin_with_the_same),
        cmocka_unit_test(include_is_drawn_as_the_samples_behind_the_last),
        cmocka_unit_test(sobol_spreads_over_pairs_of_lists),
        cmocka_unit_test(large_grids_are_counted_without_walking),
        cmocka_unit_test(what_when_drops_from_include_is_told),
        cmocka_unit_test(what_matches_nothing_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

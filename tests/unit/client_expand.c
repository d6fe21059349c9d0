/* SPDX-License-Identifier: MIT */
/* client_expand.c - tests of the odometer over a grid, and of the chunks it fills */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/expand.h"
#include "client/params.h"
#include "client/submit.h"
#include "common/json.h"
#include "common/mp.h"

static struct value a_values[2], b_values[1], c_values[3];
static struct param params[3] = { { "a", a_values, 2 },
                                  { "b", b_values, 1 },
                                  { "c", c_values, 3 } };
static const struct list grid = { params, 3 };

static int fill_values(void **state)
{
    (void)state;
    a_values[0] = value_float(0.5);
    a_values[1] = value_int(INT64_MIN);
    b_values[0] = value_str("adam");
    for (int i = 0; i < 3; i++)
        c_values[i] = value_int(i);
    return 0;
}

static char *json_of(const struct buf *point)
{
    struct arena *a = arena_create();
    struct buf json = { 0 };
    struct value v;

    assert_int_equal(mp_read(point->bytes, point->n, a, &v, NULL), 0);
    json_add_value(&json, &v);
    arena_destroy(a);
    return buf_take(&json);
}

static void the_last_parameter_turns_fastest(void **state)
{
    static const char *const points[] = {
        "{\"a\":0.5,\"b\":\"adam\",\"c\":0}",
        "{\"a\":0.5,\"b\":\"adam\",\"c\":1}",
        "{\"a\":0.5,\"b\":\"adam\",\"c\":2}",
        "{\"a\":-9223372036854775808,\"b\":\"adam\",\"c\":0}",
        "{\"a\":-9223372036854775808,\"b\":\"adam\",\"c\":1}",
        "{\"a\":-9223372036854775808,\"b\":\"adam\",\"c\":2}",
    };
    struct expand *x = expand_create(&grid, NULL);
    struct buf point = { 0 };

    (void)state;
    assert_int_equal(expand_count(x), 6);
    for (size_t i = 0; i < 6; i++) {
        char *json;

        buf_clear(&point);
        assert_true(expand_next(x, &point));
        json = json_of(&point);
        assert_string_equal(json, points[i]);
        free(json);
    }
    assert_false(expand_next(x, &point));
    assert_false(expand_next(x, &point));
    buf_free(&point);
    expand_destroy(x);
}

static void any_point_can_be_sought(void **state)
{
    struct expand *x = expand_create(&grid, NULL), *y = expand_create(&grid, NULL);

    (void)state;
    for (int64_t i = 0; i < 6; i++) {
        struct buf in_order = { 0 }, sought = { 0 };

        assert_true(expand_next(x, &in_order));
        expand_seek(y, i);
        assert_true(expand_next(y, &sought));
        assert_int_equal(in_order.n, sought.n);
        assert_memory_equal(in_order.bytes, sought.bytes, sought.n);
        buf_free(&in_order);
        buf_free(&sought);
    }
    expand_destroy(x);
    expand_destroy(y);
}

static void without_parameters_there_is_one_configuration(void **state)
{
    static const struct list nothing = { NULL, 0 };
    struct expand *x = expand_create(&nothing, NULL);
    struct buf point = { 0 };
    char *json;

    (void)state;
    assert_int_equal(expand_count(x), 1);
    assert_true(expand_next(x, &point));
    json = json_of(&point);
    assert_string_equal(json, "{}");
    free(json);
    assert_false(expand_next(x, &point));
    buf_free(&point);
    expand_destroy(x);
}

static void grids_beyond_counting_are_refused(void **state)
{
    struct value values[1024];
    struct param many[7];
    struct list huge = { many, 7 };
    struct err e = { 0 };

    (void)state;
    for (int i = 0; i < 1024; i++)
        values[i] = value_int(i);
    for (int i = 0; i < 7; i++)
        many[i] = (struct param){ "x", values, 1024 };
    assert_null(expand_create(&huge, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    huge.n = 4; /* 2^40 */
    {
        struct expand *x = expand_create(&huge, &e);

        assert_non_null(x);
        assert_int_equal(expand_count(x), INT64_C(1) << 40);
        expand_seek(x, (INT64_C(1) << 40) - 1);
        expand_destroy(x);
    }
}

static void a_configuration_that_no_message_can_hold_is_refused(void **state)
{
    size_t n = PARAM2VAL_MAX_BYTES;
    char *text = mem_alloc(n + 1);
    struct value large = { .type = VALUE_STR };
    struct param one = { "x", &large, 1 };
    struct list list = { &one, 1 };
    struct err e = { 0 };
    struct expand *x;

    (void)state;
    memset(text, 'x', n);
    large.str.s = text;
    large.str.n = n;
    assert_null(expand_create(&list, &e));
    assert_non_null(strstr(e.text, "one configuration takes more than"));
    large.str.n = n - 100;
    x = expand_create(&list, &e);
    assert_non_null(x);
    expand_destroy(x);
    free(text);
}

static int count_item(void *context, struct bytes item, struct err *e)
{
    (void)e;
    assert_true(item.n > 0);
    ++*(int64_t *)context;
    return 0;
}

static void chunks_hold_every_configuration_once(void **state)
{
    struct value values[3000];
    struct param two[2] = { { "p", values, 3000 }, { "q", c_values, 3 } };
    struct list list = { two, 2 };
    struct buf left_over = { 0 }, chunk = { 0 };
    int64_t n, total = 0;
    struct expand *x;

    (void)state;
    for (int i = 0; i < 3000; i++)
        values[i] = value_int(i);
    x = expand_create(&list, NULL);
    while ((n = submit_fill_chunk(x, 1024, &left_over, &chunk)) > 0) {
        int64_t items = 0;

        assert_int_equal(mp_each_item(chunk.bytes, chunk.n, count_item, &items, NULL), 0);
        assert_int_equal(items, n);
        assert_in_range(n, 1, 1024);
        total += n;
    }
    assert_int_equal(total, 9000);
    assert_int_equal(chunk.n, 0);
    buf_free(&chunk);
    buf_free(&left_over);
    expand_destroy(x);
}

static void large_configurations_make_chunks_shorter(void **state)
{
    char *text = mem_alloc(100 * 1024);
    struct value values[7];
    struct param one = { "p", values, 7 };
    struct list list = { &one, 1 };
    struct buf left_over = { 0 }, chunk = { 0 };
    struct expand *x;

    (void)state;
    memset(text, 'x', 100 * 1024);
    for (int i = 0; i < 7; i++)
        values[i] = value_strn(text, i == 6 ? 1 : 100 * 1024);
    x = expand_create(&list, NULL);
    assert_int_equal(submit_fill_chunk(x, 1024, &left_over, &chunk), 2);
    assert_in_range(chunk.n, 1, SUBMIT_CHUNK_BYTES + 16);
    assert_int_equal(submit_fill_chunk(x, 1024, &left_over, &chunk), 2);
    assert_int_equal(submit_fill_chunk(x, 1, &left_over, &chunk), 1);
    assert_int_equal(submit_fill_chunk(x, 1024, &left_over, &chunk), 2);
    assert_int_equal(submit_fill_chunk(x, 1024, &left_over, &chunk), 0);
    buf_free(&chunk);
    buf_free(&left_over);
    expand_destroy(x);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_parameter_turns_fastest),
        cmocka_unit_test(any_point_can_be_sought),
        cmocka_unit_test(without_parameters_there_is_one_configuration),
        cmocka_unit_test(grids_beyond_counting_are_refused),
        cmocka_unit_test(a_configuration_that_no_message_can_hold_is_refused),
        cmocka_unit_test(chunks_hold_every_configuration_once),
        cmocka_unit_test(large_configurations_make_chunks_shorter),
    };

    return cmocka_run_group_tests(tests, fill_values, NULL);
}

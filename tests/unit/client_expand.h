/* SPDX-License-Identifier: MIT */
/*
 * client_expand.h - expands the plan of a sweep file's text into configurations
 *
 * Errors fail the test.  Include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_CLIENT_EXPAND_H
#define LUDWIG_TESTS_UNIT_CLIENT_EXPAND_H

#include <stdlib.h>
#include <string.h>

#include "client/expand/expand.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "tests/unit/client_plan.h"

/* Returns the expansion of the text's plan, which points to a; free it with expand_destroy. */
static inline struct expand *expand_from(const char *text, struct arena *a)
{
    struct err e = { 0 };
    struct expand *x = expand_create(plan_from(text, a), "f", POINTS_MAX, &e);

    if (x == NULL)
        fail_msg("%s\n%s", text, e.text);
    return x;
}

/* Decodes the msgpack of one configuration; the value lives in a. */
static inline struct value expand_read(const struct buf *point, struct arena *a)
{
    struct value v;

    assert_int_equal(mp_read(point->bytes, point->n, a, &v, NULL), 0);
    return v;
}

/* Returns the remaining configurations as JSON, one per line; the caller frees the text. */
static inline char *expand_lines(struct expand *x)
{
    struct arena *a = arena_create();
    struct buf point = { 0 }, lines = { 0 };

    while (expand_next(x, &point)) {
        struct value v = expand_read(&point, a);

        json_add_value(&lines, &v);
        buf_add_char(&lines, '\n');
        buf_clear(&point);
    }
    assert_false(expand_next(x, &point));
    buf_free(&point);
    arena_destroy(a);
    buf_add_str(&lines, "");
    return buf_take(&lines);
}

static inline int64_t expand_count_lines(const char *lines)
{
    int64_t n = 0;

    for (; *lines != '\0'; lines++)
        n += *lines == '\n';
    return n;
}

/* Checks that expanding from any index on gives what expanding from the first one gives; text is
 * shown if it does not. */
static inline void expand_check_seeking(const char *text, struct expand *x)
{
    struct buf all = { 0 }, sought = { 0 };

    expand_seek(x, 0);
    while (expand_next(x, &all))
        continue;
    for (int64_t i = 0; i < expand_count(x); i++) {
        expand_seek(x, i);
        if (!expand_next(x, &sought))
            fail_msg("%s\nnothing at %lld", text, (long long)i);
    }
    if (all.n != sought.n || memcmp(buf_text(&all), buf_text(&sought), all.n) != 0)
        fail_msg("%s\nseeking gives others", text);
    buf_clear(&sought);
    for (int64_t i = 0; i < expand_count(x); i++) {
        size_t n_before = sought.n;

        expand_seek(x, expand_count(x) - 1 - i);
        while (expand_next(x, &sought))
            continue;
        assert_memory_equal(sought.bytes + n_before, all.bytes + all.n - (sought.n - n_before),
                            sought.n - n_before);
    }
    buf_free(&all);
    buf_free(&sought);
}

#endif

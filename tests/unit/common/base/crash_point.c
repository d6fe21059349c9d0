/* SPDX-License-Identifier: MIT */
/* crash_point.c - docs/internals/publishing.md and the table of crash points are the same list */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "tests/unit/doc.h"
#include "common/base/crash_point.h"

static const char document[] = "docs/internals/publishing.md";

static const struct {
    const char *name, *who, *next;
} points[] = {
#define X(name, who, next) { #name, #who, next },
    CRASH_POINT_POINTS(X)
#undef X
};

static void every_point_is_walked_in_the_document(void **state)
{
    (void)state;
    for (size_t i = 0; i < CRASH_POINT_COUNT; i++) {
        struct buf row = { 0 };

        buf_printf(&row, "| `%s` | %s | %s |", points[i].name, points[i].who, points[i].next);
        doc_must_contain(document, buf_text(&row));
        buf_free(&row);
    }
}

static void the_document_walks_no_other_points(void **state)
{
    struct buf doc = { 0 };
    struct err e = { 0 };
    size_t n = 0;

    (void)state;
    if (io_read_file(document, 1 << 20, &doc, &e) < 0)
        fail_msg("%s", e.text);
    for (const char *at = buf_text(&doc); (at = strstr(at, "\n| `")) != NULL; at++)
        n++;
    assert_int_equal(n, CRASH_POINT_COUNT);
    buf_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_is_walked_in_the_document),
        cmocka_unit_test(the_document_walks_no_other_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

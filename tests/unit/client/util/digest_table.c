/* SPDX-License-Identifier: MIT */
/* digest_table.c - tests of the set of digests */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/util/digest_table.h"

static struct digest digest_of_number(size_t i)
{
    struct digest d;

    digest_of(&i, sizeof i, &d);
    return d;
}

static void each_digest_is_new_once(void **state)
{
    enum { N = 50000 };
    struct digest_table *seen = digest_table_create();

    (void)state;
    for (size_t i = 0; i < N; i++) {
        struct digest d = digest_of_number(i);

        assert_true(digest_table_add(seen, &d));
        assert_false(digest_table_add(seen, &d));
    }
    for (size_t i = 0; i < N; i++) {
        struct digest d = digest_of_number(i);

        assert_false(digest_table_add(seen, &d));
    }
    assert_int_equal(digest_table_count(seen), N);
    digest_table_destroy(seen);
    digest_table_destroy(NULL);
}

static void digests_that_begin_alike_are_told_apart(void **state)
{
    struct digest_table *seen = digest_table_create();
    struct digest d = digest_of_number(1);

    (void)state;
    assert_true(digest_table_add(seen, &d));
    for (int i = 0; i < 8; i++) {
        d.bytes[i] ^= 1;
        assert_true(digest_table_add(seen, &d));
    }
    assert_int_equal(digest_table_count(seen), 9);
    digest_table_destroy(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_digest_is_new_once),
        cmocka_unit_test(digests_that_begin_alike_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

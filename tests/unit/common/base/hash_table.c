/* SPDX-License-Identifier: MIT */
/* hash_table.c - tests of numbers that are known by a digest */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/hash_table.h"

enum { MANY = 200000 };

/* Where it is looked for first is said by its first bytes. */
static struct digest digest_at(uint64_t home, uint32_t number)
{
    struct digest d = { 0 };

    memcpy(d.bytes, &home, sizeof home);
    memcpy(d.bytes + sizeof home, &number, sizeof number);
    return d;
}

static uint64_t mix(uint64_t n)
{
    n = (n ^ (n >> 31)) * 0x9e3779b97f4a7c15;
    return n ^ (n >> 29);
}

static uint64_t scattered(uint32_t i)
{
    return mix(i + 1);
}

/* They fill the end and, as they have no room there, the beginning, however large it grows. */
static uint64_t at_the_end(uint32_t i)
{
    return UINT64_MAX - i % 7;
}

/* Those beside each other part when it grows. */
static uint64_t in_runs(uint32_t i)
{
    return (uint64_t)(i % 3) << 6 | (uint64_t)(i % 5) << 9 | i % 50;
}

static void check(uint64_t (*home)(uint32_t i), uint32_t n, size_t max)
{
    struct hash_table *t = hash_table_create(max);

    for (uint32_t i = 0; i < n; i++) {
        struct digest d = digest_at(home(i), i);

        assert_true(hash_table_add(t, &d, i));
        assert_int_equal(hash_table_add(t, &d, i), i >= max);
    }
    assert_int_equal(hash_table_count(t), n < max ? n : max);
    for (uint32_t i = 0; i < n; i++) {
        struct digest d = digest_at(home(i), i);
        uint32_t number = UINT32_MAX;

        assert_int_equal(hash_table_find(t, &d, &number), i < max);
        if (i < max)
            assert_int_equal(number, i);
    }
    hash_table_destroy(t);
}

static void each_is_found_again_however_many_there_are(void **state)
{
    (void)state;
    check(scattered, MANY, SIZE_MAX);
}

static void so_are_those_that_are_looked_for_at_the_same_place(void **state)
{
    (void)state;
    check(at_the_end, 3000, SIZE_MAX);
    check(in_runs, 3000, SIZE_MAX);
}

static void no_more_are_kept_than_was_said(void **state)
{
    (void)state;
    check(scattered, 5000, 768);
}

static void the_first_number_counts(void **state)
{
    struct hash_table *t = hash_table_create(SIZE_MAX);
    struct digest d = digest_at(1, 1);
    uint32_t number = 0;

    (void)state;
    assert_true(hash_table_add(t, &d, 5));
    assert_false(hash_table_add(t, &d, 6));
    assert_true(hash_table_find(t, &d, &number));
    assert_int_equal(number, 5);
    hash_table_destroy(t);
}

static void what_was_cleared_can_be_filled_again(void **state)
{
    struct hash_table *t = hash_table_create(SIZE_MAX);
    uint32_t number = 0;

    (void)state;
    for (uint32_t round = 1; round < 3; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            struct digest d = digest_at(in_runs(i), i);

            assert_true(hash_table_add(t, &d, i * round));
        }
        for (uint32_t i = 0; i < 1000; i++) {
            struct digest d = digest_at(in_runs(i), i);

            assert_true(hash_table_find(t, &d, &number));
            assert_int_equal(number, i * round);
        }
        hash_table_clear(t);
        assert_int_equal(hash_table_count(t), 0);
    }
    hash_table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_again_however_many_there_are),
        cmocka_unit_test(so_are_those_that_are_looked_for_at_the_same_place),
        cmocka_unit_test(no_more_are_kept_than_was_said),
        cmocka_unit_test(the_first_number_counts),
        cmocka_unit_test(what_was_cleared_can_be_filled_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

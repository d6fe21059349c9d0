/* SPDX-License-Identifier: MIT */
/* philox.c - tests of the random number generator */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/draw/philox.h"

/* The lines "philox4x32 10" of tests/kat_vectors in Random123. */
static void it_gives_the_known_answers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    uint32_t out[4];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        philox4x32(cases[i].counter, cases[i].key, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void seed_stream_index_and_turn_each_make_other_bits(void **state)
{
    static const struct {
        struct philox p;
        uint64_t index;
        unsigned nth;
    } cases[] = {
        { { 0, 0 }, 0, 0 },
        { { 1, 0 }, 0, 0 },
        { { UINT64_C(1) << 32, 0 }, 0, 0 },
        { { 0, 1 }, 0, 0 },
        { { 0, UINT64_C(1) << 32 }, 0, 0 },
        { { 0, 0 }, 1, 0 },
        { { 0, 0 }, UINT64_C(1) << 32, 0 },
        { { 0, 0 }, UINT64_C(1) << 47, 0 },
        { { 0, 0 }, 0, 1 },
        { { 0, 0 }, 0, 2 },
    };
    enum { N = sizeof cases / sizeof cases[0] };
    uint64_t bits[N];

    (void)state;
    for (size_t i = 0; i < N; i++) {
        bits[i] = philox_bits(&cases[i].p, cases[i].index, cases[i].nth);
        for (size_t k = 0; k < i; k++)
            assert_true(bits[k] != bits[i]);
    }
    assert_true(bits[0] == UINT64_C(0xe169c58d6627e8d5));
    assert_true(bits[8] == UINT64_C(0x9b00dbd8bc57ac4c));
}

static void units_lie_between_the_ends_and_are_even(void **state)
{
    enum { N = 100000, BINS = 10 };
    struct philox p = { 3, 4 };
    int bins[BINS] = { 0 };
    double sum = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double u = philox_unit(&p, i);

        assert_true(u > 0 && u < 1);
        bins[(int)(u * BINS)]++;
        sum += u;
    }
    assert_true(sum / N > 0.497 && sum / N < 0.503);
    for (int i = 0; i < BINS; i++)
        assert_in_range(bins[i], N / BINS - 400, N / BINS + 400);
}

static void integers_are_even_and_below_their_bound(void **state)
{
    enum { N = 70000, FACES = 7 };
    struct philox p = { 5, 6 };
    int faces[FACES] = { 0 };

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t n = philox_below(&p, i, FACES);

        assert_true(n < FACES);
        faces[n]++;
    }
    for (int i = 0; i < FACES; i++)
        assert_in_range(faces[i], N / FACES - 350, N / FACES + 350);
    assert_true(philox_below(&p, 9, 1) == 0);
    assert_true(philox_below(&p, 9, 0) == philox_bits(&p, 9, 0));
}

/* Of 3 * 2^62 results, a plain multiplication would give each third one twice as often. */
static void large_bounds_favour_nobody(void **state)
{
    enum { N = 30000 };
    const uint64_t bound = UINT64_C(3) << 62;
    struct philox p = { 7, 8 };
    int n_first_taken = 0, thirds[3] = { 0 };

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t n = philox_below(&p, i, bound);

        assert_true(n < bound);
        thirds[n % 3]++;
        n_first_taken += n == philox_multiply_high(philox_bits(&p, i, 0), bound);
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(thirds[i], N / 3 - 300, N / 3 + 300);
    assert_in_range(n_first_taken, N * 3 / 4 - 300, N * 3 / 4 + 300);
}

static void the_upper_half_of_a_product_is_exact(void **state)
{
    static const struct {
        uint64_t x, y, high;
    } cases[] = {
        { 0, UINT64_MAX, 0 },
        { 1, UINT64_MAX, 0 },
        { 2, UINT64_MAX, 1 },
        { UINT64_MAX, UINT64_MAX, UINT64_MAX - 1 },
        { UINT64_C(1) << 32, UINT64_C(1) << 32, 1 },
        { UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210),
          UINT64_C(0x121fa00ad77d7422) },
        { UINT64_C(0xffffffff), UINT64_C(0xffffffffffffffff), UINT64_C(0xfffffffe) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(philox_multiply_high(cases[i].x, cases[i].y) == cases[i].high);
        assert_true(philox_multiply_high(cases[i].y, cases[i].x) == cases[i].high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gives_the_known_answers),
        cmocka_unit_test(seed_stream_index_and_turn_each_make_other_bits),
        cmocka_unit_test(units_lie_between_the_ends_and_are_even),
        cmocka_unit_test(integers_are_even_and_below_their_bound),
        cmocka_unit_test(large_bounds_favour_nobody),
        cmocka_unit_test(the_upper_half_of_a_product_is_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* sobol.c - tests of Sobol's sequence */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "client/draw/sobol.h"
#include "common/base/digest.h"
#include "common/base/mem.h"

/* scipy.stats.qmc.Sobol(d=8, scramble=False, bits=32).random(16) of SciPy 1.10.1, times 16 */
static void the_first_points_are_the_known_ones(void **state)
{
    static const uint8_t points[8][16] = {
        { 0, 8, 12, 4, 6, 14, 10, 2, 3, 11, 15, 7, 5, 13, 9, 1 },
        { 0, 8, 4, 12, 6, 14, 2, 10, 5, 13, 1, 9, 3, 11, 7, 15 },
        { 0, 8, 4, 12, 10, 2, 14, 6, 15, 7, 11, 3, 5, 13, 1, 9 },
        { 0, 8, 4, 12, 14, 6, 10, 2, 7, 15, 3, 11, 9, 1, 13, 5 },
        { 0, 8, 12, 4, 6, 14, 10, 2, 9, 1, 5, 13, 15, 7, 3, 11 },
        { 0, 8, 12, 4, 2, 10, 14, 6, 5, 13, 9, 1, 7, 15, 11, 3 },
        { 0, 8, 4, 12, 6, 14, 2, 10, 7, 15, 3, 11, 1, 9, 5, 13 },
        { 0, 8, 12, 4, 14, 6, 2, 10, 15, 7, 3, 11, 1, 9, 13, 5 },
    };

    (void)state;
    for (unsigned d = 0; d < 8; d++) {
        struct sobol s;

        sobol_init(&s, d);
        for (uint32_t i = 0; i < 16; i++)
            assert_int_equal(sobol_at(&s, i), (uint32_t)points[d][i] << 28);
    }
}

/* All 256 coordinates of the first 2048 points as SciPy gives them: SHA-256 of those words, the
 * first byte the highest, point by point. */
static void all_dimensions_are_those_of_scipy(void **state)
{
    static const char expected[] =
        "dad150ac6874ad31f2ed253a6f3b860f15a5a5c800f8a75a43e56a7159955d1e";
    struct sobol *s = mem_alloc(SOBOL_DIMENSIONS * sizeof *s);
    struct hasher *h = hasher_create();
    char hex[DIGEST_HEX];
    struct digest d;

    (void)state;
    for (unsigned i = 0; i < SOBOL_DIMENSIONS; i++)
        sobol_init(&s[i], i);
    for (uint32_t point = 0; point < 2048; point++)
        for (unsigned i = 0; i < SOBOL_DIMENSIONS; i++) {
            uint32_t x = sobol_at(&s[i], point);
            uint8_t word[4] = { (uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8),
                                (uint8_t)x };

            hasher_add(h, word, sizeof word);
        }
    hasher_end(h, &d);
    digest_hex(&d, hex);
    assert_string_equal(hex, expected);
    hasher_destroy(h);
    free(s);
}

/* SciPy, after fast_forward(3000000000) */
static void points_far_away_are_the_known_ones(void **state)
{
    static const struct {
        unsigned dimension;
        uint32_t x;
    } cases[] = {
        { 0, 0x008e1dd7 },   { 1, 0x0c476229 },   { 7, 0xd065ee37 },
        { 100, 0x4fbf9819 }, { 255, 0x07829565 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sobol s;

        sobol_init(&s, cases[i].dimension);
        assert_int_equal(sobol_at(&s, UINT32_C(3000000000)), cases[i].x);
    }
}

static void each_dimension_fills_each_cell_once(void **state)
{
    enum { BITS = 10, N = 1 << BITS };

    (void)state;
    for (unsigned d = 0; d < SOBOL_DIMENSIONS; d++) {
        bool is_taken[N] = { false };
        struct sobol s;

        sobol_init(&s, d);
        for (uint32_t i = 0; i < N; i++) {
            uint32_t cell = sobol_at(&s, i) >> (SOBOL_BITS - BITS);

            assert_false(is_taken[cell]);
            is_taken[cell] = true;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_points_are_the_known_ones),
        cmocka_unit_test(all_dimensions_are_those_of_scipy),
        cmocka_unit_test(points_far_away_are_the_known_ones),
        cmocka_unit_test(each_dimension_fills_each_cell_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* philox.c - Philox4x32-10, a random number generator that only counts */
#include "client/draw/philox.h"

enum { ROUNDS = 10 };

static const uint32_t multipliers[2] = { 0xd2511f53, 0xcd9e8d57 };
static const uint32_t weyl[2] = { 0x9e3779b9, 0xbb67ae85 };

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = { counter[0], counter[1], counter[2], counter[3] };
    uint32_t k[2] = { key[0], key[1] };

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t x = (uint64_t)multipliers[0] * c[0];
        uint64_t y = (uint64_t)multipliers[1] * c[2];

        c[0] = (uint32_t)(y >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)y;
        c[2] = (uint32_t)(x >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)x;
        k[0] += weyl[0];
        k[1] += weyl[1];
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

uint64_t philox_bits(const struct philox *p, uint64_t index, unsigned nth)
{
    const uint32_t key[2] = { (uint32_t)p->seed, (uint32_t)(p->seed >> 32) };
    const uint32_t counter[4] = { (uint32_t)index, (uint32_t)(index >> 32) | nth / 2 << 16,
                                  (uint32_t)p->stream, (uint32_t)(p->stream >> 32) };
    uint32_t out[4];
    const uint32_t *half = out + 2 * (nth % 2);

    philox4x32(counter, key, out);
    return (uint64_t)half[1] << 32 | half[0];
}

double philox_unit(const struct philox *p, uint64_t index)
{
    uint64_t odd = philox_bits(p, index, 0) >> 12 << 1 | 1;

    return (double)odd * 0x1p-53;
}

uint64_t philox_multiply_high(uint64_t x, uint64_t y)
{
    uint64_t x_low = (uint32_t)x, x_high = x >> 32, y_low = (uint32_t)y, y_high = y >> 32;
    uint64_t middle = x_high * y_low + (x_low * y_low >> 32);
    uint64_t other = x_low * y_high + (uint32_t)middle;

    return x_high * y_high + (middle >> 32) + (other >> 32);
}

/* D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019. */
uint64_t philox_below(const struct philox *p, uint64_t index, uint64_t n)
{
    uint64_t bits = philox_bits(p, index, 0);
    uint64_t surplus; /* of the 2^64 values, which would make the first results likelier */

    if (n == 0)
        return bits;
    surplus = (0 - n) % n;
    for (unsigned nth = 1; bits * n < surplus; nth++)
        bits = philox_bits(p, index, nth);
    return philox_multiply_high(bits, n);
}

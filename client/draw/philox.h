/* SPDX-License-Identifier: MIT */
/*
 * philox.h - random numbers that can be computed in any order
 *
 * Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011, as in their library Random123: a function from
 * a key and a counter to 128 bits, without state.  The key is the seed; the counter is
 * made of a stream (one for each parameter), the index of a configuration, and the number
 * of a draw there.
 */
#ifndef LUDWIG_CLIENT_DRAW_PHILOX_H
#define LUDWIG_CLIENT_DRAW_PHILOX_H

#include <stdint.h>

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

struct philox {
    uint64_t seed;
    uint64_t stream;
};

/* The nth 64 random bits (from 0) at index, which is below 2^48. */
uint64_t philox_bits(const struct philox *p, uint64_t index, unsigned nth);
/* One of 2^52 equally likely numbers in (0, 1), without the ends; x is as likely as 1 - x. */
double philox_unit(const struct philox *p, uint64_t index);
/* A number from 0 to n - 1, all equally likely; n 0 means 2^64. */
uint64_t philox_below(const struct philox *p, uint64_t index, uint64_t n);

/* The upper 64 of the 128 bits of x * y. */
uint64_t philox_multiply_high(uint64_t x, uint64_t y);

#endif

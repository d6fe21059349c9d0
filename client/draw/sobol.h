/* SPDX-License-Identifier: MIT */
/*
 * sobol.h - Sobol's sequence: points that fill a cube evenly
 *
 * I. M. Sobol, USSR Comput. Math. Math. Phys. 7 (1967), in the order of Gray's code
 * (I. A. Antonov and V. M. Saleev, 1979), with the direction numbers of S. Joe and
 * F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections",
 * SIAM J. Sci. Comput. 30 (2008): see sobol_table.h.
 */
#ifndef LUDWIG_CLIENT_DRAW_SOBOL_H
#define LUDWIG_CLIENT_DRAW_SOBOL_H

#include <stdint.h>

enum { SOBOL_DIMENSIONS = 256, SOBOL_BITS = 32 };
#define SOBOL_POINTS (INT64_C(1) << SOBOL_BITS)

/* One coordinate of the points. */
struct sobol {
    uint32_t directions[SOBOL_BITS];
};

void sobol_init(struct sobol *s, unsigned dimension); /* from 0, below SOBOL_DIMENSIONS */
/* The coordinate of point number index, as a multiple of 2^-32. */
uint32_t sobol_at(const struct sobol *s, uint32_t index);

#endif

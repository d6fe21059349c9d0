/* SPDX-License-Identifier: MIT */
/* sobol.c - Sobol's sequence, one coordinate of one point at a time */
#include <assert.h>

#include "client/draw/sobol.h"
#include "client/draw/sobol_table.h"

static_assert(sizeof sobol_table / sizeof sobol_table[0] == SOBOL_DIMENSIONS, "a row for each");

void sobol_init(struct sobol *s, unsigned dimension)
{
    const struct sobol_row *row = &sobol_table[dimension];
    unsigned degree = 0;
    uint32_t *v = s->directions;

    /* Dimension 0 is van der Corput's sequence: all its numbers are 1. */
    for (unsigned i = 0; dimension == 0 && i < SOBOL_BITS; i++)
        v[i] = UINT32_C(1) << (SOBOL_BITS - 1 - i);
    if (dimension == 0)
        return;
    while (row->polynomial >> degree > 1)
        degree++;
    for (unsigned i = 0; i < degree; i++)
        v[i] = (uint32_t)row->m[i] << (SOBOL_BITS - 1 - i);
    for (unsigned i = degree; i < SOBOL_BITS; i++) {
        v[i] = v[i - degree] ^ v[i - degree] >> degree;
        for (unsigned k = 1; k < degree; k++)
            if (row->polynomial >> (degree - k) & 1)
                v[i] ^= v[i - k];
    }
}

uint32_t sobol_at(const struct sobol *s, uint32_t index)
{
    uint32_t point = 0;

    for (uint32_t gray = index ^ index >> 1, i = 0; gray != 0; gray >>= 1, i++)
        if (gray & 1)
            point ^= s->directions[i];
    return point;
}

/* SPDX-License-Identifier: MIT */
/*
 * canary.h - the configurations that run first, so that a broken value shows early
 *
 * They have each value of each swept parameter at least once.  A greedy cover takes again and again
 * a configuration with the most values that no chosen one has, and values of shorter lists in turn;
 * for a grid it is as long as the longest list.  Parameters with more than CANARY_VALUES_MAX
 * values, as samples have, are not covered; of more than CANARY_LOOKED_AT_MAX points so many,
 * spread evenly, are looked at.
 */
#ifndef LUDWIG_CLIENT_EXPAND_CANARY_H
#define LUDWIG_CLIENT_EXPAND_CANARY_H

#include "client/expand/points.h"

enum { CANARY_LOOKED_AT_MAX = 20000, CANARY_VALUES_MAX = 1000 };

/* Returns the numbers of *found of the first n points, ascending, which the caller frees; *found is
 * 0 if all of them would be chosen.  Moves the position of points: seek afterwards. */
int64_t *canary_find(const struct points *points, int64_t n, size_t *found);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * canary.h - the configurations that run first, so that a broken value shows early
 *
 * They have each value of each swept parameter once: a greedy cover, which takes again and again
 * a configuration with most values that none before has, and values of shorter lists in turn.  Of a
 * grid it is as long as the longest list of values.  Of parameters with very many values, as samples
 * have, nothing is covered; of more points than CANARY_LOOKED_AT_MAX so many are looked at, spread
 * evenly.
 */
#ifndef LUDWIG_CLIENT_EXPAND_CANARY_H
#define LUDWIG_CLIENT_EXPAND_CANARY_H

#include "client/expand/points.h"

enum { CANARY_LOOKED_AT_MAX = 20000, CANARY_VALUES_MAX = 1000 };

/* Numbers of points, of the first n, in ascending order, which the caller frees; *found of them, 0
 * where all would be among them.  The points stand somewhere afterwards. */
int64_t *canary_find(const struct points *points, int64_t n, size_t *found);

#endif

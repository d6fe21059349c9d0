/* SPDX-License-Identifier: MIT */
/*
 * space.h - the space that an advisor searches: described to it, and checked in the points it gives
 */
#ifndef LUDWIG_SERVER_SEARCH_SPACE_H
#define LUDWIG_SERVER_SEARCH_SPACE_H

#include "common/base/buf.h"
#include "common/proto/search.h"

enum {
    SPACE_VALUES_MAX = 20 * 1000,       /* values of all parameters and when: conditions */
    SPACE_STEPS_MAX = 10 * 1000 * 1000, /* comparisons that the points in one line may take */
    SEARCH_MAX_BYTES = 256 * 1024,      /* a search with its space, as a client sends it */
    SEARCHES_PER_USER_MAX = 100,        /* searches that have not ended */
};

/* How many points of this search space_take can take within a moment. */
int64_t space_points_at_once(const struct search *s);

/* Checks a search that a client sent. */
int space_check(const struct search *s, struct err *e);

/* Adds a `space` line's members that describe the parameters: "params": {...}, "fixed": {...} */
void space_add_json(const struct search *s, struct buf *out);

/*
 * Makes a configuration of a point, {"params": {...}, "from": 3}: a map with the space's parameters
 * in their order, without those that `when` leaves out, with the fixed ones; numbers get the kind
 * of their parameter.  *from: number of the point whose checkpoint it starts from; 0: none.
 * ERR_USAGE names what is wrong with the point.  *config is in the arena.
 */
int space_take(const struct search *s, const struct value *point, struct arena *a,
               struct value *config, int64_t *from, struct err *e);

#endif

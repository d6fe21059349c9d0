/* SPDX-License-Identifier: MIT */
/*
 * expand.h - the configurations of a sweep, one after the other
 *
 * A grid is walked like an odometer, the last parameter turns fastest; a parameter
 * with a condition turns after those that the condition names, and not at all where
 * it is absent.  Samples are a function of (seed, parameter, index) alone.  Then come
 * those of include:.  Memory does not grow with their number, and the same file and
 * seed give the same bytes on every machine.
 */
#ifndef LUDWIG_CLIENT_EXPAND_EXPAND_H
#define LUDWIG_CLIENT_EXPAND_EXPAND_H

#include <stdbool.h>

#include "client/spec/plan.h"
#include "common/base/buf.h"
#include "common/base/err.h"

struct expand;

enum { EXPAND_FIRST = 0 };

/*
 * plan has passed plan_check, and must live as long as the expand.  file is for messages.
 * ERR_USAGE: a configuration is too large; exclude: leaves nothing; there are more points than
 * points_max (POINTS_MAX, or 2^40 with --yes), which the message says how to allow.
 * Counts them, for which it walks through what conditions and exclude: have to do with.
 *
 * EXPAND_FIRST: the first configuration is all it has then, however many there are: they are not
 * counted.  ERR_USAGE also when exclude: leaves out all of the first POINTS_MAX.
 */
struct expand *expand_create(const struct plan *plan, const char *file, int64_t points_max,
                             struct err *e);
void expand_destroy(struct expand *x); /* NULL is fine */

/* Exact. */
int64_t expand_count(struct expand *x);
/* The next expand_next gives number index, from 0; index is below the count. */
void expand_seek(struct expand *x, int64_t index);
/* Appends a param2val as a msgpack map; false when that was all. */
bool expand_next(struct expand *x, struct buf *out);
/* Appends lines for people of what of when:, exclude: and include: comes to nothing:
 * "exclude: {lr: 0.3} matches no configuration" */
void expand_add_notes(const struct expand *x, struct buf *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * expand.h - gives the configurations of a sweep one after the other
 *
 * A grid is walked like an odometer, the last parameter turns fastest; a parameter
 * with a condition turns after those that the condition names, and not at all where
 * it is absent.  Samples are a function of (seed, parameter, index) alone.  The entries
 * of include: come last.  Memory does not grow with the number of configurations, and
 * the same file and seed give the same bytes on every machine.
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
 * ERR_USAGE: a configuration is too large; exclude: leaves nothing; there are more configurations
 * than points_max (POINTS_MAX, or 2^40 with --yes; the message says how to allow more).  Counting
 * them walks through the parameters that conditions and exclude: involve.
 *
 * points_max EXPAND_FIRST: gives only the first configuration, and does not count the others.
 * ERR_USAGE also when exclude: leaves out all of the first POINTS_MAX.
 */
struct expand *expand_create(const struct plan *plan, const char *file, int64_t points_max,
                             struct err *e);
void expand_destroy(struct expand *x); /* NULL is fine */

/* The exact number of configurations. */
int64_t expand_count(struct expand *x);
/* Makes expand_next give number index, from 0, which is below the count. */
void expand_seek(struct expand *x, int64_t index);
/* Appends the next param2val as a msgpack map; false at the end. */
bool expand_next(struct expand *x, struct buf *out);
/* Appends lines for people: the notes of parameters, and entries of when:, exclude: and include:
 * without effect: "exclude: {lr: 0.3} matches no configuration" */
void expand_add_notes(const struct expand *x, struct buf *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * expand.h - the configurations of a sweep, one after the other
 *
 * An odometer over the grid: the last parameter turns fastest.  Keys and values are
 * encoded once; a configuration is a copy of those pieces, so that the memory does
 * not grow with the grid.
 */
#ifndef LUDWIG_CLIENT_EXPAND_H
#define LUDWIG_CLIENT_EXPAND_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/schema.h"

struct expand;

/* params: struct param.  ERR_USAGE when there are too many or a configuration is too large. */
struct expand *expand_create(const struct list *params, struct err *e);
void expand_destroy(struct expand *x); /* NULL is fine */

int64_t expand_count(const struct expand *x);
/* The next expand_next gives number index, from 0; index is below the count. */
void expand_seek(struct expand *x, int64_t index);
/* Appends a param2val as a msgpack map; false when that was all. */
bool expand_next(struct expand *x, struct buf *out);

#endif

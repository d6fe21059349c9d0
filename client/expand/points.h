/* SPDX-License-Identifier: MIT */
/*
 * points.h - the configurations of a submit, from the sweep file or from --param2vals
 */
#ifndef LUDWIG_CLIENT_EXPAND_POINTS_H
#define LUDWIG_CLIENT_EXPAND_POINTS_H

#include "client/expand/expand.h"
#include "client/expand/param2vals.h"

/* One of the two is set. */
struct points {
    struct expand *expand;   /* from the parameters of the sweep file */
    struct param2vals *list; /* from --param2vals */
};

void points_free(struct points *p);

/* See expand.h. */
int64_t points_count(const struct points *p);
void points_seek(const struct points *p, int64_t index);
bool points_next(const struct points *p, struct buf *out);
void points_add_notes(const struct points *p, struct buf *out);

#endif

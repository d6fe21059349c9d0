/* SPDX-License-Identifier: MIT */
/*
 * expand_walk.h - from one configuration of a grid or of samples to the next
 *
 * What is up is in the wheels and slots; x->left counts down to the end of the part.
 */
#ifndef LUDWIG_CLIENT_EXPAND_EXPAND_WALK_H
#define LUDWIG_CLIENT_EXPAND_EXPAND_WALK_H

#include "client/expand/expand_make.h"

struct tally {
    int64_t points, kept; /* with and without those that exclude: leaves out */
    bool is_exact;        /* else there are more */
};

/* Counts each part, until there are more than points_max, and of all. */
struct tally expand_tally(struct expand *x, int64_t points_max);

/* Goes to the beginning of a part. */
void expand_open_part(struct expand *x, size_t part);
/* To the first of the part that was opened; false: it has none, or (x->is_given_up) none was found among
 * the first POINTS_MAX. */
bool expand_begin_part(struct expand *x);
/* To number index of the part that was opened, which has it. */
void expand_seek_part(struct expand *x, int64_t index);
/* To the next of the part; when that was its last one, nothing but x->left changes. */
void expand_advance(struct expand *x);

#endif

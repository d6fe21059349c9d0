/* SPDX-License-Identifier: MIT */
/*
 * effects.h - what a turn has promised to do once its transaction is committed
 *
 * A list that grows while handlers run, is cut back to a mark when one fails,
 * and is either run in order or dropped whole.
 */
#ifndef LUDWIG_SERVER_BASE_EFFECTS_H
#define LUDWIG_SERVER_BASE_EFFECTS_H

#include <stddef.h>
#include <stdint.h>

struct server;
struct effect;

struct effects {
    struct effect *items;
    size_t n;
    size_t n_begun; /* of those, while they run: promised anew, one of them runs again */
    size_t capacity;
};

/* The same with the same argument, twice in a row, is run once. */
void effects_add_run(struct effects *l, void (*run)(struct server *sv, int64_t argument),
                     int64_t argument);
/* Exactly one of the two is called; either takes context over. */
void effects_add_give(struct effects *l, void (*run)(struct server *sv, void *context),
                      void (*drop)(void *context), void *context);

/* Drops those from mark on. */
void effects_drop(struct effects *l, size_t mark);
/* Runs them all, also those that come up meanwhile. */
void effects_run(struct effects *l, struct server *sv);
void effects_free(struct effects *l);

#endif

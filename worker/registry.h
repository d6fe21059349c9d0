/* SPDX-License-Identifier: MIT */
/*
 * registry.h - what this agent was given and has not yet settled, on disk
 *
 * A journal that is only appended to.  What is added is kept in memory until
 * registry_flush, which writes it with one write(2); a record that was torn by a
 * kill or a full disk is cut off at the next start.  It is not synced: after a
 * reboot everything in it is lost anyway, and the boot id in its first record
 * tells.
 */
#ifndef LUDWIG_WORKER_REGISTRY_H
#define LUDWIG_WORKER_REGISTRY_H

#include "worker/orders.h"

struct registry;

/* What the journal says, in its order. */
struct registry_events {
    void (*boot)(void *context, const char *boot_id);
    /* order is in the arena, which is the receiver's from here on */
    void (*assigned)(void *context, struct arena *a, const struct order *order);
    void (*gone)(void *context, const struct token *token);
};

/* Opens or creates the file and tells what it says. */
struct registry *registry_open(const char *path, const struct registry_events *events,
                               void *context, struct err *e);
void registry_close(struct registry *r); /* NULL is fine; what was not flushed is dropped */

int registry_assigned(struct registry *r, const struct order *order, struct err *e);
int registry_gone(struct registry *r, const struct token *tokens, size_t n, struct err *e);
/* Nothing was written when it fails; what was added waits for the next time, */
int registry_flush(struct registry *r, struct err *e);
/* unless it is dropped. */
void registry_drop(struct registry *r);

/* Large, and mostly about attempts that are gone. */
bool registry_is_wasteful(const struct registry *r);

/* Writes the file anew: the boot id and what next hands out, until NULL. */
int registry_rewrite(struct registry *r, const char *boot_id,
                     const struct order *(*next)(void *context), void *context, struct err *e);

#endif

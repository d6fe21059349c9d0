/* SPDX-License-Identifier: MIT */
/*
 * holds.h - what ludwigd is still to be told of a user's cache
 *
 * News are gathered until the loop waits, and go in few messages.
 */
#ifndef LUDWIG_WORKER_AGENT_HOLDS_H
#define LUDWIG_WORKER_AGENT_HOLDS_H

#include "worker/agent/cached.h"

/* Begins as all zeroes. */
struct holds {
    struct held_tree *there;
    struct digest_entry *gone;
    size_t n_there, n_gone, there_capacity, gone_capacity;
    size_t n_told; /* of those that are there, by messages that were taken already */
    bool all;      /* what was told before is over */
};

void holds_free(struct holds *h);
/* A tree came, or went. */
void holds_add(struct holds *h, const struct note_cached *note);
/* All of it is told from the beginning. */
void holds_begin(struct holds *h, const struct cached *cached);
/* The next message, whose lists are valid until h is changed; false: there is nothing to tell.
 * Without user, whom the caller knows. */
bool holds_next(struct holds *h, struct msg_holds *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cache_news.h - what ludwigd is still to be told of a user's cache
 *
 * News are gathered until the loop waits, and go in few messages.
 */
#ifndef LUDWIG_WORKER_AGENT_CACHE_NEWS_H
#define LUDWIG_WORKER_AGENT_CACHE_NEWS_H

#include "worker/agent/cache_trees.h"

/* Begins as all zeroes. */
struct cache_news {
    struct held_tree *there;
    struct digest_entry *gone;
    size_t n_there, n_gone, there_capacity, gone_capacity;
    size_t n_told; /* of those that are there, by messages that were taken already */
    bool all;      /* what was told before is over */
};

void cache_news_free(struct cache_news *h);
/* A tree came, or went. */
void cache_news_add(struct cache_news *h, const struct note_cached *note);
/* All of it is told from the beginning. */
void cache_news_begin(struct cache_news *h, const struct cache_trees *cached);
/* The next message, whose lists are valid until h is changed; false: there is nothing to tell.
 * Without user, whom the caller knows. */
bool cache_news_next(struct cache_news *h, struct msg_holds *m);

#endif

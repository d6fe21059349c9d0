/* SPDX-License-Identifier: MIT */
/*
 * cache_news.h - which trees lie in a user's cache, as its stager said, and what ludwigd is still to be told
 *
 * News are gathered until the loop waits, and go in few messages.
 */
#ifndef LUDWIG_WORKER_AGENT_CACHE_NEWS_H
#define LUDWIG_WORKER_AGENT_CACHE_NEWS_H

#include "worker/base/child_protocol.h"

struct cache_trees {
    struct cache_trees_tree {
        struct digest tree;
        int64_t files, bytes;
        int64_t used_at; /* ms since 1970 */
    } * trees;
    size_t n, capacity;
};

void cache_trees_free(struct cache_trees *h);
/* true: that is news, not the last use alone. */
bool cache_trees_take(struct cache_trees *h, const struct note_cached *note);
/* It was used a moment ago. */
void cache_trees_use(struct cache_trees *h, const struct digest *tree, int64_t now_ms);

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

/* SPDX-License-Identifier: MIT */
/*
 * cache_news.h - which trees lie in a user's cache, as its stager said, and what ludwigd is still to be told
 *
 * News are gathered until the loop waits, and go in few messages.
 */
#ifndef LUDWIG_WORKER_AGENT_CACHE_NEWS_H
#define LUDWIG_WORKER_AGENT_CACHE_NEWS_H

#include "worker/base/child_protocol.h"

/* Begins as all zeroes. */
struct cache_news {
    struct cached_tree {
        struct digest tree;
        int64_t files, bytes;
        bool is_told;
        bool is_gone; /* it is forgotten when that is told */
    } * trees;
    size_t n, capacity;
    struct held_tree *there;   /* of the last message */
    struct digest_entry *gone; /* likewise */
    bool is_due;               /* something is not told yet */
    bool all;                  /* what was told before is over */
};

void cache_news_free(struct cache_news *h);
/* A tree came, or went, or was used. */
void cache_news_take(struct cache_news *h, const struct note_cached *note);
/* All of it is told from the beginning. */
void cache_news_begin(struct cache_news *h);
/* The next message, whose lists are valid until h is changed; false: there is nothing to tell.
 * Without user, whom the caller knows. */
bool cache_news_next(struct cache_news *h, struct msg_holds *m);

#endif

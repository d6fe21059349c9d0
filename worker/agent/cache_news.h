/* SPDX-License-Identifier: MIT */
/*
 * cache_news.h - the trees in a user's cache, as the stager told, and which changes ludwigd lacks
 */
#ifndef LUDWIG_WORKER_AGENT_CACHE_NEWS_H
#define LUDWIG_WORKER_AGENT_CACHE_NEWS_H

#include "worker/base/child_protocol.h"

/* All zeroes is the empty state. */
struct cache_news {
    struct cached_tree {
        struct digest tree;
        int64_t files, bytes;
        bool is_told;
        bool is_gone; /* removed from the cache; dropped from trees once told */
    } * trees;
    size_t n, capacity;
    struct held_tree *there;   /* lists of the last message */
    struct digest_entry *gone; /* also of the last message */
    bool is_due;               /* there is news */
    bool all;                  /* the next message replaces all that ludwigd was told before */
};

void cache_news_free(struct cache_news *h);
/* Takes the stager's note that a tree came, went or changed in size. */
void cache_news_take(struct cache_news *h, const struct note_cached *note);
/* Makes cache_news_next tell all trees from the beginning. */
void cache_news_begin(struct cache_news *h);
/* Fills in the next message, without user; its lists are valid until h is changed.  false: there is
 * nothing to tell. */
bool cache_news_next(struct cache_news *h, struct msg_holds *m);

#endif

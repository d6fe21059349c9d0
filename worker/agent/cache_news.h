/* SPDX-License-Identifier: MIT */
/*
 * cache_news.h - the trees in a user's cache, as its stager said, and news of them for ludwigd
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
        bool is_gone; /* the tree is forgotten when that is told */
    } * trees;
    size_t n, capacity;
    struct held_tree *there;   /* of the last message */
    struct digest_entry *gone; /* likewise */
    bool is_due;               /* there is news */
    bool all;                  /* ludwigd is to forget what it was told before */
};

void cache_news_free(struct cache_news *h);
/* A tree came, or went, or was used. */
void cache_news_take(struct cache_news *h, const struct note_cached *note);
/* All trees are told from the beginning. */
void cache_news_begin(struct cache_news *h);
/* The next message, whose lists are valid until h is changed; false: there is nothing to tell. The
 * caller sets user. */
bool cache_news_next(struct cache_news *h, struct msg_holds *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cache_trees.h - which trees lie in a user's cache on this machine, as its stager said
 */
#ifndef LUDWIG_WORKER_AGENT_CACHE_TREES_H
#define LUDWIG_WORKER_AGENT_CACHE_TREES_H

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

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cached.h - which trees lie in a user's cache on this machine, as its stager said
 */
#ifndef LUDWIG_WORKER_AGENT_CACHED_H
#define LUDWIG_WORKER_AGENT_CACHED_H

#include "worker/base/orders.h"

struct cached {
    struct cached_tree {
        struct digest tree;
        int64_t files, bytes;
        int64_t used_at; /* ms since 1970 */
    } * trees;
    size_t n, capacity;
};

void cached_free(struct cached *h);
/* true: that is news, not the last use alone. */
bool cached_take(struct cached *h, const struct note_cached *note);
/* It was used a moment ago. */
void cached_use(struct cached *h, const struct digest *tree, int64_t now_ms);

#endif

/* SPDX-License-Identifier: MIT */
/* cache_trees.c - which trees lie in a user's cache on this machine */

#include "worker/agent/cache_trees.h"

#include <stdlib.h>

void cache_trees_free(struct cache_trees *h)
{
    free(h->trees);
    *h = (struct cache_trees){ .n = 0 };
}

static struct cache_trees_tree *find(const struct cache_trees *h, const struct digest *tree)
{
    for (size_t i = 0; i < h->n; i++)
        if (digest_equal(&h->trees[i].tree, tree))
            return &h->trees[i];
    return NULL;
}

static bool drop(struct cache_trees *h, struct cache_trees_tree *t)
{
    if (t == NULL)
        return false;
    *t = h->trees[--h->n];
    return true;
}

bool cache_trees_take(struct cache_trees *h, const struct note_cached *note)
{
    struct cache_trees_tree *t = find(h, &note->tree);
    bool is_new;

    if (note->is_gone)
        return drop(h, t);
    is_new = t == NULL || t->files != note->files || t->bytes != note->bytes;
    if (t == NULL) {
        mem_grow((void **)&h->trees, &h->capacity, h->n, sizeof *h->trees);
        t = &h->trees[h->n++];
    }
    *t = (struct cache_trees_tree){ note->tree, note->files, note->bytes, note->used_at };
    return is_new;
}

void cache_trees_use(struct cache_trees *h, const struct digest *tree, int64_t now_ms)
{
    struct cache_trees_tree *t = find(h, tree);

    if (t != NULL)
        t->used_at = now_ms;
}

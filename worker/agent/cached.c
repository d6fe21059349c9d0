/* SPDX-License-Identifier: MIT */
/* cached.c - which trees lie in a user's cache on this machine */

#include "worker/agent/cached.h"

#include <stdlib.h>

void cached_free(struct cached *h)
{
    free(h->trees);
    *h = (struct cached){ .n = 0 };
}

static struct cached_tree *find(const struct cached *h, const struct digest *tree)
{
    for (size_t i = 0; i < h->n; i++)
        if (digest_equal(&h->trees[i].tree, tree))
            return &h->trees[i];
    return NULL;
}

static bool drop(struct cached *h, struct cached_tree *t)
{
    if (t == NULL)
        return false;
    *t = h->trees[--h->n];
    return true;
}

bool cached_take(struct cached *h, const struct note_cached *note)
{
    struct cached_tree *t = find(h, &note->tree);
    bool is_new;

    if (note->is_gone)
        return drop(h, t);
    is_new = t == NULL || t->files != note->files || t->bytes != note->bytes;
    if (t == NULL) {
        mem_grow((void **)&h->trees, &h->capacity, h->n, sizeof *h->trees);
        t = &h->trees[h->n++];
    }
    *t = (struct cached_tree){ note->tree, note->files, note->bytes, note->used_at };
    return is_new;
}

void cached_use(struct cached *h, const struct digest *tree, int64_t now_ms)
{
    struct cached_tree *t = find(h, tree);

    if (t != NULL)
        t->used_at = now_ms;
}

/* SPDX-License-Identifier: MIT */
/* cache_news.c - the trees in a user's cache, and which changes ludwigd lacks */

#include "worker/agent/cache_news.h"

#include <stdlib.h>

void cache_news_free(struct cache_news *h)
{
    free(h->trees);
    free(h->there);
    free(h->gone);
    *h = (struct cache_news){ .n = 0 };
}

void cache_news_take(struct cache_news *h, const struct note_cached *note)
{
    const struct cached_tree now = {
        .tree = note->tree, .files = note->files, .bytes = note->bytes, .is_gone = note->is_gone
    };
    size_t i = 0;

    while (i < h->n && !digest_equal(&h->trees[i].tree, &note->tree))
        i++;
    if (i == h->n) {
        mem_grow((void **)&h->trees, &h->capacity, h->n, sizeof *h->trees);
        h->n++;
    } else if (h->trees[i].is_gone == now.is_gone && h->trees[i].files == now.files &&
               h->trees[i].bytes == now.bytes) {
        return;
    }
    h->trees[i] = now;
    h->is_due = true;
}

void cache_news_begin(struct cache_news *h)
{
    h->is_due = h->all = true;
    for (size_t i = h->n; i-- > 0;) {
        h->trees[i].is_told = false;
        if (h->trees[i].is_gone)
            h->trees[i] = h->trees[--h->n];
    }
}

bool cache_news_next(struct cache_news *h, struct msg_holds *m)
{
    size_t n_there = 0, n_gone = 0;

    if (!h->is_due)
        return false;
    h->there = mem_resize(h->there, HOLDS_MAX, sizeof *h->there);
    h->gone = mem_resize(h->gone, HOLDS_MAX, sizeof *h->gone);
    for (size_t i = h->n; i-- > 0;) {
        struct cached_tree *t = &h->trees[i];

        if (t->is_told || (t->is_gone ? n_gone : n_there) == HOLDS_MAX)
            continue;
        t->is_told = true;
        if (!t->is_gone) {
            h->there[n_there++] = (struct held_tree){ .tree = t->tree, .bytes = t->bytes };
        } else {
            h->gone[n_gone++].digest = t->tree;
            *t = h->trees[--h->n];
        }
    }
    *m = (struct msg_holds){ .all = h->all };
    h->is_due = n_there > 0 || n_gone > 0;
    if (!h->is_due && !h->all)
        return false;
    h->all = false;
    if (n_there > 0)
        m->trees = (struct list){ h->there, n_there };
    if (n_gone > 0)
        m->gone = (struct list){ h->gone, n_gone };
    return true;
}

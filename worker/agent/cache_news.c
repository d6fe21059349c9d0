/* SPDX-License-Identifier: MIT */
/* cache_news.c - which trees came and went since ludwigd was told */

#include "worker/agent/cache_news.h"

#include <stdlib.h>

#include "common/base/mem.h"

void cache_news_free(struct cache_news *h)
{
    free(h->there);
    free(h->gone);
    *h = (struct cache_news){ 0 };
}

static void append_there(struct cache_news *h, const struct digest *tree, int64_t bytes)
{
    mem_grow((void **)&h->there, &h->there_capacity, h->n_there, sizeof *h->there);
    h->there[h->n_there++] = (struct held_tree){ .tree = *tree, .bytes = bytes };
}

static void add_there(struct cache_news *h, const struct digest *tree, int64_t bytes)
{
    for (size_t i = 0; i < h->n_gone; i++)
        if (digest_equal(&h->gone[i].digest, tree))
            h->gone[i--] = h->gone[--h->n_gone];
    append_there(h, tree, bytes);
}

static void add_gone(struct cache_news *h, const struct digest *tree)
{
    for (size_t i = 0; i < h->n_there; i++)
        if (digest_equal(&h->there[i].tree, tree))
            h->there[i--] = h->there[--h->n_there];
    mem_grow((void **)&h->gone, &h->gone_capacity, h->n_gone, sizeof *h->gone);
    h->gone[h->n_gone++].digest = *tree;
}

void cache_news_add(struct cache_news *h, const struct note_cached *note)
{
    if (note->is_gone)
        add_gone(h, &note->tree);
    else
        add_there(h, &note->tree, note->bytes);
}

void cache_news_begin(struct cache_news *h, const struct cache_trees *cached)
{
    cache_news_free(h);
    h->all = true;
    for (size_t i = 0; i < cached->n; i++)
        append_there(h, &cached->trees[i].tree, cached->trees[i].bytes);
}

static size_t at_most(size_t n)
{
    return n < HOLDS_MAX ? n : HOLDS_MAX;
}

bool cache_news_next(struct cache_news *h, struct msg_holds *m)
{
    size_t n_there = at_most(h->n_there - h->n_told);
    size_t n_gone = at_most(h->n_gone);

    if (n_there == 0 && n_gone == 0 && !h->all) {
        h->n_there = h->n_told = 0;
        return false;
    }
    *m = (struct msg_holds){ .all = h->all };
    h->all = false;
    h->n_told += n_there;
    h->n_gone -= n_gone;
    if (n_there > 0)
        m->trees = (struct list){ h->there + h->n_told - n_there, n_there };
    if (n_gone > 0)
        m->gone = (struct list){ h->gone + h->n_gone, n_gone };
    return true;
}

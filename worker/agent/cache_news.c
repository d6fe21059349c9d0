/* SPDX-License-Identifier: MIT */
/* cache_news.c - which trees lie in a user's cache, and what ludwigd is still to be told of that */

#include "worker/agent/cache_news.h"

#include <stdlib.h>

/* ---- what lies there ---- */

void cache_trees_free(struct cache_trees *h)
{
    free(h->trees);
    *h = (struct cache_trees){ .n = 0 };
}

static struct cache_trees_tree *find_tree(const struct cache_trees *h, const struct digest *tree)
{
    for (size_t i = 0; i < h->n; i++)
        if (digest_equal(&h->trees[i].tree, tree))
            return &h->trees[i];
    return NULL;
}

bool cache_trees_take(struct cache_trees *h, const struct note_cached *note)
{
    struct cache_trees_tree *t = find_tree(h, &note->tree);
    bool is_new;

    if (note->is_gone) {
        if (t != NULL)
            *t = h->trees[--h->n];
        return t != NULL;
    }
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
    struct cache_trees_tree *t = find_tree(h, tree);

    if (t != NULL)
        t->used_at = now_ms;
}

/* ---- what is to be told ---- */

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

void cache_news_add(struct cache_news *h, const struct note_cached *note)
{
    if (!note->is_gone) {
        for (size_t i = 0; i < h->n_gone; i++)
            if (digest_equal(&h->gone[i].digest, &note->tree))
                h->gone[i--] = h->gone[--h->n_gone];
        append_there(h, &note->tree, note->bytes);
        return;
    }
    for (size_t i = 0; i < h->n_there; i++)
        if (digest_equal(&h->there[i].tree, &note->tree))
            h->there[i--] = h->there[--h->n_there];
    mem_grow((void **)&h->gone, &h->gone_capacity, h->n_gone, sizeof *h->gone);
    h->gone[h->n_gone++].digest = note->tree;
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

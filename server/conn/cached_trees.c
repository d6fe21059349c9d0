/* SPDX-License-Identifier: MIT */
/* cached_trees.c - a sorted array of trees and their users */

#include "server/conn/cached_trees.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

void cached_trees_free(struct cached_trees *h)
{
    for (size_t i = 1; i < h->n_users; i++)
        free(h->users[i]);
    free(h->users);
    free(h->items);
    *h = (struct cached_trees){ 0 };
}

static int compare_trees(const void *x, const void *y)
{
    const struct holding *hx = x, *hy = y;

    return memcmp(hx->tree.bytes, hy->tree.bytes, DIGEST_BYTES);
}

static int compare(const void *x, const void *y)
{
    const struct holding *hx = x, *hy = y;
    int order = compare_trees(x, y);

    return order != 0 ? order : (hx->user > hy->user) - (hx->user < hy->user);
}

static struct holding *find_holding(const struct cached_trees *h, size_t n, size_t user,
                                    const struct digest *tree)
{
    struct holding wanted = { .tree = *tree, .user = user };

    return n == 0 ? NULL : bsearch(&wanted, h->items, n, sizeof wanted, compare);
}

/* The user's index; 0 for NULL, which means all users; SIZE_MAX: the user has none. */
static size_t find_user(const struct cached_trees *h, const char *name)
{
    if (name == NULL)
        return 0;
    for (size_t i = 1; i < h->n_users; i++)
        if (strcmp(h->users[i], name) == 0)
            return i;
    return SIZE_MAX;
}

void cached_trees_take(struct cached_trees *h, const struct msg_holds *m)
{
    enum { GONE = -1 };
    const struct digest_entry *gone = m->gone.items;
    const struct held_tree *trees = m->trees.items;
    size_t user = find_user(h, m->user), n_sorted = h->n, n = 0;

    if (user == SIZE_MAX) {
        if (h->n_users == CACHED_TREES_USERS_MAX)
            return;
        h->n_users += h->n_users == 0;
        mem_grow((void **)&h->users, &h->users_capacity, h->n_users, sizeof *h->users);
        h->users[h->n_users] = mem_strdup(m->user);
        user = h->n_users++;
    }
    for (size_t i = 0; m->all && i < h->n; i++)
        if (h->items[i].user == user)
            h->items[i].bytes = GONE;
    for (size_t i = 0; i < m->gone.n; i++) {
        struct holding *found = find_holding(h, h->n, user, &gone[i].digest);

        if (found != NULL)
            found->bytes = GONE;
    }
    /* New trees are added behind the sorted ones. */
    for (size_t i = 0; i < m->trees.n; i++) {
        struct holding *known = find_holding(h, n_sorted, user, &trees[i].tree);

        if (known != NULL) {
            known->bytes = trees[i].bytes;
        } else if (h->n < CACHED_TREES_MAX) {
            mem_grow((void **)&h->items, &h->capacity, h->n, sizeof *h->items);
            h->items[h->n++] = (struct holding){ trees[i].tree, user, trees[i].bytes };
        }
    }
    /* Removes trees that are gone or listed twice. */
    for (size_t i = 0; i < h->n; i++)
        if (h->items[i].bytes != GONE)
            h->items[n++] = h->items[i];
    h->n = n;
    if (n > 0)
        qsort(h->items, n, sizeof *h->items, compare);
    n = 0;
    for (size_t i = 0; i < h->n; i++)
        if (n == 0 || compare(&h->items[n - 1], &h->items[i]) != 0)
            h->items[n++] = h->items[i];
    h->n = n;
}

bool cached_trees_has(const struct cached_trees *h, const char *user, const struct digest *tree)
{
    size_t known = find_user(h, user);

    return find_holding(h, h->n, 0, tree) != NULL ||
           (known != SIZE_MAX && find_holding(h, h->n, known, tree) != NULL);
}

static int compare_sizes(const void *x, const void *y)
{
    const struct held_tree *tx = x, *ty = y;

    return (tx->bytes < ty->bytes) - (tx->bytes > ty->bytes);
}

struct list cached_trees_list(const struct cached_trees *h, const char *viewer, size_t max,
                              struct arena *a, int64_t *bytes)
{
    struct held_tree *trees = arena_alloc(a, h->n * sizeof *trees);
    size_t n = 0;

    *bytes = 0;
    for (size_t i = 0; i < h->n; i++) {
        const struct holding *is = &h->items[i];

        if (viewer == NULL || is->user == 0 || strcmp(h->users[is->user], viewer) == 0)
            trees[n++] = (struct held_tree){ is->tree, is->bytes,
                                             is->user == 0 ? NULL : h->users[is->user] };
        *bytes += is->bytes < INT64_MAX - *bytes ? is->bytes : INT64_MAX - *bytes;
    }
    if (n > 0)
        qsort(trees, n, sizeof *trees, compare_sizes);
    return (struct list){ trees, n < max ? n : max };
}

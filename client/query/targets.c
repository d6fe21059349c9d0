/* SPDX-License-Identifier: MIT */
/* targets.c - which jobs of which sweeps, each of them once */
#include <stdlib.h>
#include <string.h>

#include "client/query/targets.h"

/* Whether next, which does not begin before t, could be taken in by it. */
static bool touches(const struct target *t, const struct target *next)
{
    return t->sweep == next->sweep && (target_is_whole(t) || next->first <= t->last + 1);
}

static void take_in(struct target *t, const struct target *next)
{
    if (!target_is_whole(t) && next->last > t->last)
        t->last = next->last;
}

void targets_add(struct targets *t, const struct target *more)
{
    struct target *last = t->items != NULL && t->n > 0 ? &t->items[t->n - 1] : NULL;

    if (last != NULL && !target_is_whole(more) && more->first >= last->first &&
        touches(last, more)) {
        take_in(last, more);
        return;
    }
    if (t->items == NULL || t->n == t->capacity) {
        size_t capacity = t->capacity == 0 ? 16 : 2 * t->capacity;
        struct target *items = arena_alloc(t->arena, capacity * sizeof *items);

        if (t->items != NULL)
            memcpy(items, t->items, t->n * sizeof *items);
        t->items = items;
        t->capacity = capacity;
    }
    t->items[t->n++] = *more;
}

/* A whole sweep, which begins at 0, comes before its jobs. */
static int compare(const void *x, const void *y)
{
    const struct target *a = x, *b = y;

    if (a->sweep != b->sweep)
        return a->sweep < b->sweep ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

void targets_merge(struct targets *t)
{
    size_t n = 0;

    if (t->n == 0)
        return;
    qsort(t->items, t->n, sizeof *t->items, compare);
    for (size_t i = 1; i < t->n; i++) {
        if (touches(&t->items[n], &t->items[i]))
            take_in(&t->items[n], &t->items[i]);
        else
            t->items[++n] = t->items[i];
    }
    t->n = n + 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * ring.h - items in a doubly linked ring, the link inside the item
 *
 * The head is a struct ring as the items have; an item in no ring is linked to itself.
 */
#ifndef LUDWIG_WORKER_BASE_RING_H
#define LUDWIG_WORKER_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>

struct ring {
    struct ring *prev;
    struct ring *next;
};

/* Returns the structure that the link is a member of. */
#define RING_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* Returns the item after the link; NULL if the head comes next. */
#define RING_NEXT(type, head, link, member) \
    ((link)->next == (head) ? NULL : RING_ITEM((link)->next, type, member))

/* for (RING_EACH(struct attempt, a, head, member)): the body may remove this item, but no other. */
#define RING_EACH(type, item, head, member)                                             \
    type *item = RING_NEXT(type, head, head, member),                                   \
         *item##_next = (item) ? RING_NEXT(type, head, &(item)->member, member) : NULL; \
    (item) != NULL;                                                                     \
    (item) = item##_next,                                                               \
    item##_next = (item) ? RING_NEXT(type, head, &(item)->member, member) : NULL

static inline void ring_init(struct ring *r)
{
    r->prev = r->next = r;
}

static inline bool ring_is_empty(const struct ring *r)
{
    return r->next == r;
}

/* Puts r after item, which may be the head: then r becomes the first. */
static inline void ring_insert(struct ring *item, struct ring *r)
{
    r->prev = item;
    r->next = item->next;
    item->next->prev = r;
    item->next = r;
}

static inline void ring_add_last(struct ring *head, struct ring *r)
{
    ring_insert(head->prev, r);
}

static inline void ring_remove(struct ring *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
    ring_init(r);
}

#endif

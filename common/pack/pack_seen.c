/* SPDX-License-Identifier: MIT */
/* pack_seen.c - numbers that are known by a digest */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/pack/pack_seen.h"

enum { KEY_BYTES = 12, FIRST_SLOTS = 64 };

struct slot {
    uint8_t key[KEY_BYTES];
    uint32_t number_plus_1; /* 0: free */
};

struct pack_seen {
    struct slot *slots; /* a power of two, at most 3/4 of them taken */
    size_t n_slots, n, max;
};

struct pack_seen *pack_seen_create(size_t max)
{
    struct pack_seen *s = mem_alloc(sizeof *s);

    *s = (struct pack_seen){ .max = max, .n_slots = FIRST_SLOTS };
    s->slots = mem_alloc(FIRST_SLOTS * sizeof *s->slots);
    return s;
}

void pack_seen_destroy(struct pack_seen *s)
{
    if (s == NULL)
        return;
    free(s->slots);
    free(s);
}

/* The slot with the key, or the free one where it would be. */
static struct slot *find(const struct pack_seen *s, const uint8_t key[KEY_BYTES])
{
    uint64_t hash;
    size_t i;

    memcpy(&hash, key, sizeof hash);
    for (i = hash & (s->n_slots - 1);; i = (i + 1) & (s->n_slots - 1))
        if (s->slots[i].number_plus_1 == 0 || memcmp(s->slots[i].key, key, KEY_BYTES) == 0)
            return &s->slots[i];
}

static void move(struct pack_seen *s, size_t i)
{
    const struct slot old = s->slots[i];

    s->slots[i] = (struct slot){ 0 };
    if (old.number_plus_1 != 0)
        *find(s, old.key) = old;
}

/* In its place, as there may not be room for two of them.  From a free slot on each finds none before
 * it that is still to be moved. */
static void grow(struct pack_seen *s)
{
    size_t n_old = s->n_slots, first = 0;

    s->slots = mem_resize(s->slots, 2 * n_old, sizeof *s->slots);
    memset(s->slots + n_old, 0, n_old * sizeof *s->slots);
    s->n_slots = 2 * n_old;
    while (s->slots[first].number_plus_1 != 0)
        first++;
    for (size_t i = 0; i < n_old; i++)
        move(s, (first + i) % n_old);
}

void pack_seen_add(struct pack_seen *s, const struct digest *d, uint32_t number)
{
    struct slot *slot;

    if (s->n >= s->max)
        return;
    if (s->n >= s->n_slots / 4 * 3)
        grow(s);
    slot = find(s, d->bytes);
    if (slot->number_plus_1 != 0)
        return;
    memcpy(slot->key, d->bytes, KEY_BYTES);
    slot->number_plus_1 = number + 1;
    s->n++;
}

bool pack_seen_find(const struct pack_seen *s, const struct digest *d, uint32_t *number)
{
    const struct slot *slot = find(s, d->bytes);

    if (slot->number_plus_1 == 0)
        return false;
    *number = slot->number_plus_1 - 1;
    return true;
}

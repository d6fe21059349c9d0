/* SPDX-License-Identifier: MIT */
/* hash_table.c - a table from digests to numbers */
#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/base/mem.h"

enum { KEY_BYTES = 12, FIRST_SLOTS = 64 };

struct slot {
    uint8_t key[KEY_BYTES];
    uint32_t number_plus_1; /* 0: free */
};

struct hash_table {
    struct slot *slots; /* a power of two, at most 3/4 of them taken */
    size_t n_slots, n, max;
};

/* The finish of splitmix64, which maps no two numbers to one (Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", 2014). */
struct digest hash_table_key(int64_t number)
{
    uint64_t z = (uint64_t)number;
    struct digest d = { 0 };

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    memcpy(d.bytes, &z, sizeof z);
    return d;
}

struct hash_table *hash_table_create(size_t max)
{
    struct hash_table *t = mem_alloc(sizeof *t);

    *t = (struct hash_table){ .max = max, .n_slots = FIRST_SLOTS };
    t->slots = mem_alloc(FIRST_SLOTS * sizeof *t->slots);
    return t;
}

void hash_table_destroy(struct hash_table *t)
{
    if (t == NULL)
        return;
    free(t->slots);
    free(t);
}

/* The slot with the key, or the free one where the key belongs. */
static struct slot *find_slot(const struct hash_table *t, const uint8_t key[KEY_BYTES])
{
    uint64_t hash;
    size_t i;

    memcpy(&hash, key, sizeof hash);
    for (i = hash & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1))
        if (t->slots[i].number_plus_1 == 0 || memcmp(t->slots[i].key, key, KEY_BYTES) == 0)
            return &t->slots[i];
}

/* Doubles the table in place, as memory may not hold two tables.  Entries move in order from a free
 * slot on, so that none lands before an entry that has yet to move. */
static void grow_table(struct hash_table *t)
{
    size_t n_old = t->n_slots, first = 0;

    t->slots = mem_resize(t->slots, 2 * n_old, sizeof *t->slots);
    memset(t->slots + n_old, 0, n_old * sizeof *t->slots);
    t->n_slots = 2 * n_old;
    while (t->slots[first].number_plus_1 != 0)
        first++;
    for (size_t i = 0; i < n_old; i++) {
        struct slot *slot = &t->slots[(first + i) % n_old];
        const struct slot old = *slot;

        *slot = (struct slot){ 0 };
        if (old.number_plus_1 != 0)
            *find_slot(t, old.key) = old;
    }
}

bool hash_table_add(struct hash_table *t, const struct digest *d, uint32_t number)
{
    struct slot *slot;

    if (t->n >= t->max)
        return !hash_table_find(t, d, NULL);
    if (t->n >= t->n_slots / 4 * 3)
        grow_table(t);
    slot = find_slot(t, d->bytes);
    if (slot->number_plus_1 != 0)
        return false;
    memcpy(slot->key, d->bytes, KEY_BYTES);
    slot->number_plus_1 = number + 1;
    t->n++;
    return true;
}

bool hash_table_find(const struct hash_table *t, const struct digest *d, uint32_t *number)
{
    const struct slot *slot = find_slot(t, d->bytes);

    if (slot->number_plus_1 == 0)
        return false;
    if (number != NULL)
        *number = slot->number_plus_1 - 1;
    return true;
}

size_t hash_table_count(const struct hash_table *t)
{
    return t->n;
}

void hash_table_clear(struct hash_table *t)
{
    memset(t->slots, 0, t->n_slots * sizeof *t->slots);
    t->n = 0;
}

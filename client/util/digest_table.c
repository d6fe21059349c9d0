/* SPDX-License-Identifier: MIT */
/* digest_table.c - which digests were there before */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/util/digest_table.h"
#include "common/base/mem.h"

enum { SLOTS_AT_FIRST = 1024 }; /* a power of two, as all later numbers */

struct digest_table {
    uint64_t *slots; /* 0: free */
    size_t n_slots, n;
};

struct digest_table *digest_table_create(void)
{
    struct digest_table *d = mem_alloc(sizeof *d);

    d->n_slots = SLOTS_AT_FIRST;
    d->slots = mem_alloc(d->n_slots * sizeof *d->slots);
    return d;
}

void digest_table_destroy(struct digest_table *d)
{
    if (d == NULL)
        return;
    free(d->slots);
    free(d);
}

/* Where the key is, or would go. */
static uint64_t *find(const struct digest_table *d, uint64_t key)
{
    for (uint64_t at = key;; at++) {
        uint64_t *slot = &d->slots[at & (d->n_slots - 1)];

        if (*slot == 0 || *slot == key)
            return slot;
    }
}

/* A third of the slots stays free, so that searches are short. */
static void grow(struct digest_table *d)
{
    struct digest_table larger = { .n_slots = 2 * d->n_slots, .n = d->n };

    larger.slots = mem_alloc(larger.n_slots * sizeof *larger.slots);
    for (size_t i = 0; i < d->n_slots; i++)
        if (d->slots[i] != 0)
            *find(&larger, d->slots[i]) = d->slots[i];
    free(d->slots);
    *d = larger;
}

bool digest_table_add(struct digest_table *d, const struct digest *digest)
{
    uint64_t key, *slot;

    memcpy(&key, digest->bytes, sizeof key);
    key += key == 0;
    slot = find(d, key);
    if (*slot != 0)
        return false;
    *slot = key;
    d->n++;
    if (3 * d->n > 2 * d->n_slots)
        grow(d);
    return true;
}

size_t digest_table_count(const struct digest_table *d)
{
    return d->n;
}

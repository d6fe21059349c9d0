/* SPDX-License-Identifier: MIT */
/* digest_set.c - a few digests, each once */
#include <stdlib.h>

#include "common/base/digest_set.h"
#include "common/base/mem.h"

static size_t find(const struct digest_set *d, const struct digest *x)
{
    size_t i = 0;

    while (i < d->n && !digest_equal(&d->items[i], x))
        i++;
    return i;
}

bool digest_set_has(const struct digest_set *d, const struct digest *x)
{
    return find(d, x) < d->n;
}

void digest_set_add(struct digest_set *d, const struct digest *x)
{
    if (digest_set_has(d, x))
        return;
    mem_grow((void **)&d->items, &d->capacity, d->n, sizeof *d->items);
    d->items[d->n++] = *x;
}

void digest_set_drop(struct digest_set *d, const struct digest *x)
{
    size_t i = find(d, x);

    if (i < d->n)
        d->items[i] = d->items[--d->n];
}

void digest_set_free(struct digest_set *d)
{
    free(d->items);
    *d = (struct digest_set){ 0 };
}

/* SPDX-License-Identifier: MIT */
/* effects.c - what waits for the commit */
#include "server/base/effects.h"

#include <stdlib.h>

#include "common/base/mem.h"

/* One of run and give. */
struct effect {
    void (*run)(struct server *sv, int64_t argument);
    int64_t argument;
    void (*give)(struct server *sv, void *context);
    void (*drop)(void *context);
    void *context;
};

static void add(struct effects *l, struct effect effect)
{
    mem_grow((void **)&l->items, &l->capacity, l->n, sizeof *l->items);
    l->items[l->n++] = effect;
}

void effects_add_run(struct effects *l, void (*run)(struct server *sv, int64_t argument),
                     int64_t argument)
{
    const struct effect *last = l->n > l->n_begun ? &l->items[l->n - 1] : NULL;

    if (last == NULL || last->run != run || last->argument != argument)
        add(l, (struct effect){ .run = run, .argument = argument });
}

void effects_add_give(struct effects *l, void (*run)(struct server *sv, void *context),
                      void (*drop)(void *context), void *context)
{
    add(l, (struct effect){ .give = run, .drop = drop, .context = context });
}

void effects_drop(struct effects *l, size_t mark)
{
    while (l->n > mark) {
        struct effect *effect = &l->items[--l->n];

        if (effect->give != NULL)
            effect->drop(effect->context);
    }
}

static void run_one(struct server *sv, struct effect effect)
{
    if (effect.give != NULL)
        effect.give(sv, effect.context);
    else
        effect.run(sv, effect.argument);
}

/* By index and by value: what runs may add to the list. */
void effects_run(struct effects *l, struct server *sv)
{
    while (l->n_begun < l->n)
        run_one(sv, l->items[l->n_begun++]);
    l->n = l->n_begun = 0;
}

void effects_free(struct effects *l)
{
    effects_drop(l, 0);
    free(l->items);
    *l = (struct effects){ 0 };
}

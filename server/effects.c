/* SPDX-License-Identifier: MIT */
/* effects.c - messages and changes in memory that wait for the commit */
#include "server/effects.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/proto.h"
#include "server/conn.h"
#include "server/subscribe.h"

enum effect_kind { EFFECT_SEND, EFFECT_TOUCH, EFFECT_RUN, EFFECT_GIVE };

struct effect {
    enum effect_kind kind;
    int type;
    int64_t number; /* of a connection or a sweep, or an argument */
    int64_t re;
    struct buf body;
    void (*run)(struct server *sv, int64_t argument);
    void (*give)(struct server *sv, void *context);
    void (*drop)(void *context);
    void *context;
};

static void add(struct effects *l, struct effect effect)
{
    mem_grow((void **)&l->items, &l->capacity, l->n, sizeof *l->items);
    l->items[l->n++] = effect;
}

void effects_add_send(struct effects *l, int64_t conn, int type, int64_t re, struct buf *body)
{
    add(l, (struct effect){ EFFECT_SEND, .type = type, .number = conn, .re = re, .body = *body });
    *body = (struct buf){ 0 };
}

void effects_add_touch(struct effects *l, int64_t sweep)
{
    const struct effect *last = l->n > 0 ? &l->items[l->n - 1] : NULL;

    if (last == NULL || last->kind != EFFECT_TOUCH || last->number != sweep)
        add(l, (struct effect){ EFFECT_TOUCH, .number = sweep });
}

void effects_add_run(struct effects *l, void (*run)(struct server *sv, int64_t argument),
                     int64_t argument)
{
    add(l, (struct effect){ EFFECT_RUN, .number = argument, .run = run });
}

void effects_add_give(struct effects *l, void (*run)(struct server *sv, void *context),
                      void (*drop)(void *context), void *context)
{
    add(l, (struct effect){ EFFECT_GIVE, .give = run, .drop = drop, .context = context });
}

void effects_drop(struct effects *l, size_t mark)
{
    while (l->n > mark) {
        struct effect *effect = &l->items[--l->n];

        buf_free(&effect->body);
        if (effect->kind == EFFECT_GIVE)
            effect->drop(effect->context);
    }
}

static void send_now(struct server *sv, const struct effect *effect)
{
    struct conn *c = conn_find(sv, effect->number);
    struct err e = { 0 };

    if (c == NULL)
        return;
    if (chan_send_encoded(c->chan, effect->type, effect->re, buf_bytes(&effect->body), &e) >= 0)
        return;
    /* It was promised by what is committed: a peer that missed it has to begin anew. */
    log_event(LOG_DEBUG, "not-sent", "conn", "%lld", (long long)effect->number, "message", "%s",
              proto.messages[effect->type].name, "why", "%s", e.text, NULL);
    conn_end(c);
}

static void run_one(struct server *sv, struct effect effect)
{
    switch (effect.kind) {
    case EFFECT_SEND: send_now(sv, &effect); break;
    case EFFECT_TOUCH: subscribe_touch(sv, effect.number); break;
    case EFFECT_RUN: effect.run(sv, effect.number); break;
    case EFFECT_GIVE: effect.give(sv, effect.context); break;
    }
    buf_free(&effect.body);
}

/* By index and by value: what runs may add to the list. */
void effects_run(struct effects *l, struct server *sv)
{
    for (size_t i = 0; i < l->n; i++)
        run_one(sv, l->items[i]);
    l->n = 0;
}

void effects_free(struct effects *l)
{
    effects_drop(l, 0);
    free(l->items);
    *l = (struct effects){ 0 };
}

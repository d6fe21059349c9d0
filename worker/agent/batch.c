/* SPDX-License-Identifier: MIT */
/* batch.c - attempts that share one process, and with it a slot and a runner */

#include "worker/agent/batch.h"

#include <stdlib.h>

#include "worker/agent/attempt.h"

struct batch *batch_create(const struct token *token, bool is_shared, struct user *user,
                           int64_t number)
{
    struct batch *b = mem_alloc(sizeof *b);

    ring_init(&b->ring);
    ring_init(&b->orphan);
    ring_init(&b->members);
    b->token = *token;
    b->is_shared = is_shared;
    b->user = user;
    slot_item_init(&b->slot);
    b->slot.number = number;
    return b;
}

void batch_destroy(struct batch *b)
{
    ring_remove(&b->ring);
    ring_remove(&b->orphan);
    ring_remove(&b->slot.ring);
    free(b->slot.cpus);
    free(b->slot.gpus);
    free(b);
}

struct attempt *batch_first(const struct batch *b)
{
    return ring_is_empty(&b->members) ? NULL : RING_ITEM(b->members.next, struct attempt, mate);
}

bool batch_is_over(const struct batch *b)
{
    return ring_is_empty(&b->members) && b->runner == NULL && ring_is_empty(&b->orphan) &&
           !b->is_held && !b->is_asked && !(b->is_shared && b->is_given);
}

void batch_leave(struct attempt *a)
{
    ring_remove(&a->mate);
    a->batch = NULL;
}

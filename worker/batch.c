/* SPDX-License-Identifier: MIT */
/* batch.c - attempts that share one process, and with it a slot and a runner */

#include "worker/batch.h"

#include <stdlib.h>

#include "worker/attempts.h"

struct batch *batch_create(const struct order *order, int64_t number)
{
    const struct resources *needs = &order->work.work.resources;
    struct batch *b = mem_alloc(sizeof *b);

    ring_init(&b->ring);
    ring_init(&b->orphan);
    ring_init(&b->members);
    b->is_shared = !token_is_zero(&order->assignment.batch);
    b->token = b->is_shared ? order->assignment.batch : order->assignment.token;
    slot_item_init(&b->slot);
    b->slot.number = number;
    b->slot.need = (struct slot_need){ needs->cpus_milli, needs->gpus_milli, needs->memory_bytes };
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
           !b->is_held;
}

void batch_leave(struct attempt *a)
{
    ring_remove(&a->mate);
    a->batch = NULL;
}

/* SPDX-License-Identifier: MIT */
/* attempts.c - a table of attempts by token */

#include "worker/agent/attempts.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS_AT_FIRST = 256 };

void attempts_init(struct attempts *t)
{
    *t = (struct attempts){ .n_buckets = BUCKETS_AT_FIRST };
    ring_init(&t->all);
    ring_init(&t->batches);
    t->buckets = mem_alloc(t->n_buckets * sizeof(struct attempt *));
}

static void attempt_destroy(struct attempt *a)
{
    struct batch *b = a->batch;

    if (b != NULL) {
        batch_leave(a);
        if (batch_is_over(b))
            batch_destroy(b);
    }
    arena_destroy(a->arena);
    free(a);
}

/* Runners go on without it. */
static void let_go(struct attempt *a)
{
    if (a->batch == NULL)
        return;
    a->batch->runner = NULL;
    ring_remove(&a->batch->orphan);
}

void attempts_free(struct attempts *t)
{
    struct ring *at, *after;

    if (t->buckets == NULL)
        return;
    for (RING_EACH(&t->all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        let_go(a);
        attempt_destroy(a);
    }
    for (RING_EACH(&t->batches, at, after))
        batch_destroy(RING_ITEM(at, struct batch, ring));
    free(t->buckets);
    *t = (struct attempts){ .n = 0 };
}

/* Tokens are random already. */
static struct attempt **bucket_of(const struct attempts *t, const struct token *token)
{
    uint64_t hash;

    memcpy(&hash, token->bytes, sizeof hash);
    return &t->buckets[hash & (t->n_buckets - 1)];
}

static void link_in(struct attempts *t, struct attempt *a)
{
    struct attempt **bucket = bucket_of(t, &a->token);

    a->next_same_hash = *bucket;
    *bucket = a;
}

static void grow(struct attempts *t)
{
    struct ring *at, *after;

    free(t->buckets);
    t->n_buckets *= 2;
    t->buckets = mem_alloc(t->n_buckets * sizeof(struct attempt *));
    for (RING_EACH(&t->all, at, after))
        link_in(t, RING_ITEM(at, struct attempt, ring));
}

struct attempt *attempts_find(const struct attempts *t, const struct token *token)
{
    struct attempt *a = *bucket_of(t, token);

    while (a != NULL && !token_equal(&a->token, token))
        a = a->next_same_hash;
    return a;
}

struct batch *attempts_find_batch(const struct attempts *t, const struct token *token)
{
    struct ring *at, *after;

    for (RING_EACH(&t->batches, at, after)) {
        struct batch *b = RING_ITEM(at, struct batch, ring);

        if (token_equal(&b->token, token))
            return b;
    }
    return NULL;
}

struct batch *attempts_find_process(const struct attempts *t, const struct token *token)
{
    struct batch *b = attempts_find_batch(t, token);
    struct attempt *a = b == NULL ? attempts_find(t, token) : NULL;

    return a == NULL || a->batch == NULL || a->batch->is_shared ? b : a->batch;
}

/* The newest is first: members come one after the other. */
struct batch *attempts_batch(struct attempts *t, const struct token *token, struct user *user)
{
    struct batch *b = attempts_find_batch(t, token);

    if (b != NULL)
        return b;
    b = batch_create(token, true, user, ++t->last_number);
    ring_insert(&t->batches, &b->ring);
    return b;
}

/* They all need the same: they are of one sweep. */
static struct batch *batch_for(struct attempts *t, const struct assignment *is,
                               const struct resources *needs, struct user *user)
{
    struct batch *b = token_is_zero(&is->batch)
                          ? batch_create(&is->token, false, user, ++t->last_number)
                          : attempts_batch(t, &is->batch, user);

    if (!b->slot.is_running)
        b->slot.need =
            (struct slot_need){ needs->cpus_milli, needs->gpus_milli, needs->memory_bytes };
    return b;
}

static struct attempt *attempt_create(struct arena *arena, const struct order *order)
{
    struct attempt *a = mem_alloc(sizeof *a);

    a->token = order->assignment.token;
    a->arena = arena;
    a->order = *order;
    ring_init(&a->young);
    ring_init(&a->telling.ring);
    return a;
}

struct attempt *attempts_add(struct attempts *t, struct arena *arena, const struct order *order,
                             struct user *user)
{
    struct attempt *a;

    if (attempts_find(t, &order->assignment.token) != NULL) {
        arena_destroy(arena);
        return NULL;
    }
    a = attempt_create(arena, order);
    a->user = user;
    a->batch = batch_for(t, &order->assignment, &order->work.work.resources, user);
    ring_add_last(&a->batch->members, &a->mate);
    if (t->n >= t->n_buckets)
        grow(t);
    ring_add_last(&t->all, &a->ring);
    link_in(t, a);
    t->n++;
    return a;
}

void attempts_remove(struct attempts *t, struct attempt *a)
{
    struct attempt **at = bucket_of(t, &a->token);

    while (*at != a)
        at = &(*at)->next_same_hash;
    *at = a->next_same_hash;
    ring_remove(&a->ring);
    ring_remove(&a->young);
    ring_remove(&a->telling.ring);
    t->n--;
    attempt_destroy(a);
}

/* From here the transition table must allow the outcome. */
static enum attempt_state state_before_outcome(const struct attempt *a)
{
    if (a->telling.event == EV_WITHDRAW)
        return ATTEMPT_NO;
    if (a->may_be_on_scratch)
        return ATTEMPT_PUBLISHING;
    return a->is_staging ? ATTEMPT_STAGING : ATTEMPT_ASSIGNED;
}

enum attempt_state attempt_state_of(const struct attempt *a)
{
    switch (a->phase) {
    case PHASE_QUEUED: return a->is_staging ? ATTEMPT_STAGING : ATTEMPT_ASSIGNED;
    case PHASE_GIVEN: return a->started_at > 0 ? ATTEMPT_RUNNING : ATTEMPT_ASSIGNED;
    case PHASE_ORPHANED: return ATTEMPT_RUNNING;
    case PHASE_ENDED: return ATTEMPT_PUBLISHING;
    case PHASE_OUTCOME: return state_before_outcome(a);
    case PHASE_WITHDRAWING:
    case PHASE_DISCARDING: return ATTEMPT_NO;
    }
    return ATTEMPT_NO;
}

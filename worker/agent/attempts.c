/* SPDX-License-Identifier: MIT */
/* attempts.c - a table of attempts by token, and the batches that share a process */

#include "worker/agent/attempts.h"

#include <stdlib.h>
#include <string.h>

#define X2(name, text, ...) text,
const char *const phase_names[PHASE_COUNT] = { ATTEMPT_PHASES(X2) };
const char *const process_phase_names[PROCESS_PHASE_COUNT] = { PROCESS_PHASES(X2) };
#undef X2

/* ---- batches ---- */

static struct batch *batch_create(const struct token *token, bool is_shared, struct user *user,
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

/* The process of a batch that is not shared has nothing to do without its attempt. */
bool batch_is_over(const struct batch *b)
{
    return ring_is_empty(&b->members) && b->runner == NULL &&
           (b->phase == PROCESS_NONE || (b->phase == PROCESS_GIVEN && !b->is_shared));
}

void batch_leave(struct attempt *a)
{
    ring_remove(&a->mate);
    a->batch = NULL;
}

/* ---- attempts ---- */

void attempts_init(struct attempts *t)
{
    *t = (struct attempts){ .n = 0 };
    ring_init(&t->all);
    ring_init(&t->batches);
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

void attempts_free(struct attempts *t)
{
    for (RING_EACH(struct attempt, a, &t->all, ring)) {
        if (a->batch != NULL) { /* the runner goes on without the agent */
            a->batch->runner = NULL;
            a->batch->phase = PROCESS_NONE;
        }
        attempt_destroy(a);
    }
    for (RING_EACH(struct batch, b, &t->batches, ring))
        batch_destroy(b);
    attempts_init(t);
}

/* Tokens are random: their first bytes serve as hash. */
static size_t bucket_of(const struct token *token)
{
    uint64_t hash;

    memcpy(&hash, token->bytes, sizeof hash);
    return hash % ATTEMPT_BUCKETS;
}

struct attempt *attempts_find(const struct attempts *t, const struct token *token)
{
    struct attempt *a = t->buckets[bucket_of(token)];

    while (a != NULL && !token_equal(&a->token, token))
        a = a->next_same_hash;
    return a;
}

struct batch *attempts_find_batch(const struct attempts *t, const struct token *token)
{
    for (RING_EACH(struct batch, b, &t->batches, ring)) {
        if (token_equal(&b->token, token))
            return b;
    }
    return NULL;
}

struct batch *attempts_find_process(const struct attempts *t, const struct token *token)
{
    const struct attempt *a = attempts_find(t, token);

    return a != NULL && a->batch != NULL && !a->batch->is_shared ? a->batch
                                                                 : attempts_find_batch(t, token);
}

/* The newest batch is first in the ring: its members arrive one after the other. */
struct batch *attempts_batch(struct attempts *t, const struct token *token, struct user *user)
{
    struct batch *b = attempts_find_batch(t, token);

    if (b != NULL)
        return b;
    b = batch_create(token, true, user, ++t->last_number);
    ring_insert(&t->batches, &b->ring);
    return b;
}

struct attempt *attempts_add(struct attempts *t, struct arena *arena, const struct order *order,
                             struct user *user, enum phase phase)
{
    const struct assignment *is = &order->assignment;
    const struct resources *needs = &order->work.work.resources;
    struct attempt *a;

    if (attempts_find(t, &is->token) != NULL) {
        arena_destroy(arena);
        return NULL;
    }
    a = mem_alloc(sizeof *a);
    a->token = is->token;
    a->arena = arena;
    a->order = *order;
    a->user = user;
    a->phase = phase;
    ring_init(&a->aside);
    ring_init(&a->telling.ring);
    a->batch = token_is_zero(&is->batch) ? batch_create(&is->token, false, user, ++t->last_number)
                                         : attempts_batch(t, &is->batch, user);
    /* All members need the same resources: they belong to one sweep. */
    if (!a->batch->slot.is_running)
        a->batch->slot.need =
            (struct slot_need){ needs->cpus_milli, needs->gpus_milli, needs->memory_bytes,
                                order->assignment.advises ? 0 : needs->disk_bytes };
    ring_add_last(&a->batch->members, &a->mate);
    ring_add_last(&t->all, &a->ring);
    a->next_same_hash = t->buckets[bucket_of(&a->token)];
    t->buckets[bucket_of(&a->token)] = a;
    t->n++;
    t->n_in[phase]++;
    return a;
}

void attempts_move(struct attempts *t, struct attempt *a, enum phase to)
{
    t->n_in[a->phase]--;
    t->n_in[to]++;
    a->phase = to;
}

void attempts_remove(struct attempts *t, struct attempt *a)
{
    struct attempt **at = &t->buckets[bucket_of(&a->token)];

    while (*at != a)
        at = &(*at)->next_same_hash;
    *at = a->next_same_hash;
    ring_remove(&a->ring);
    ring_remove(&a->aside);
    ring_remove(&a->telling.ring);
    t->n--;
    t->n_in[a->phase]--;
    attempt_destroy(a);
}

bool attempt_is_recorded(const struct attempt *a)
{
    return a->phase != PHASE_DISCARDING && a->phase != PHASE_GONE &&
           (a->phase != PHASE_OUTCOME || a->may_be_on_scratch);
}

bool attempt_may_run(const struct attempt *a)
{
    return a->phase >= PHASE_STARTING && a->phase <= PHASE_UNNAMED;
}

enum attempt_state attempt_state_of(const struct attempt *a)
{
    enum attempt_state waiting = a->is_staged ? ATTEMPT_STAGING : ATTEMPT_ASSIGNED;

    switch (a->phase) {
    case PHASE_NEW:
    case PHASE_STAGING:
    case PHASE_QUEUED: return waiting;
    case PHASE_STARTING:
    case PHASE_RUNNING:
    case PHASE_LEFT:
    case PHASE_MUTE:
    case PHASE_MISSING:
    case PHASE_UNNAMED: return a->started_at > 0 ? ATTEMPT_RUNNING : ATTEMPT_ASSIGNED;
    case PHASE_ORPHANED:
    case PHASE_FINISHING: return ATTEMPT_RUNNING;
    case PHASE_PUBLISHING: return ATTEMPT_PUBLISHING;
    case PHASE_OUTCOME: /* ludwigd's table must allow the outcome from this state */
        if (a->telling.event == EV_WITHDRAW)
            return ATTEMPT_NO;
        return a->may_be_on_scratch ? ATTEMPT_PUBLISHING : waiting;
    case PHASE_WITHDRAWING:
    case PHASE_DISCARDING:
    case PHASE_GONE:
    case PHASE_COUNT: break;
    }
    return ATTEMPT_NO;
}

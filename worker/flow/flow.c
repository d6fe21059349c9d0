/* SPDX-License-Identifier: MIT */
/* flow.c - the way of an attempt: queued, given, ended, told, settled */

#include "worker/flow/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/pilot_end.h"
#include "worker/base/reap.h"

static void log_attempt(enum log_level level, const char *event, const struct attempt *a,
                        const char *reason)
{
    const struct assignment *is = &a->order.assignment;

    log_event(level, event, "sweep", "%lld", (long long)is->sweep, "job", "%lld",
              (long long)is->job, "attempt", "%lld", (long long)is->attempt, "reason", "%s",
              reason == NULL ? "" : reason, NULL);
}

static struct batch *batch_of(struct slot_item *item)
{
    return RING_ITEM(item, struct batch, slot);
}

/* ---- batches ---- */

void flow_end_if_over(struct agent *ag, struct batch *b)
{
    if (!batch_is_over(b))
        return;
    slots_drop(ag->slots, &b->slot);
    slots_release(ag->slots, &b->slot);
    batch_destroy(b);
}

void flow_process_over(struct agent *ag, struct batch *b)
{
    slots_release(ag->slots, &b->slot);
    if (b->is_given && b->is_shared)
        registry_gone(ag->registry, &b->token, 1, NULL);
    b->is_given = false;
}

void flow_each_member(struct agent *ag, struct batch *b,
                      void (*each)(struct agent *ag, struct attempt *a))
{
    struct ring *at, *after;

    b->is_held = true;
    for (RING_EACH(&b->members, at, after))
        each(ag, RING_ITEM(at, struct attempt, mate));
    b->is_held = false;
    flow_end_if_over(ag, b);
}

/* One that waits goes on without it, and may be what the others waited for. */
static void leave_batch(struct agent *ag, struct attempt *a)
{
    struct batch *b = a->batch;

    if (b == NULL)
        return;
    ag->n_asked -= a->is_asked;
    a->is_asked = false;
    batch_leave(a);
    flow_leave_data(a);
    if (ring_is_empty(&b->members))
        flow_end_if_over(ag, b);
    else if (batch_first(b)->phase == PHASE_QUEUED)
        flow_enqueue(ag, b);
}

/* ---- queued ---- */

void flow_enqueue(struct agent *ag, struct batch *b)
{
    bool is_ready = b->user->state == USER_KNOWN && flow_is_staged(b);

    if (is_ready && !b->slot.is_waiting)
        slots_add(ag->slots, &b->slot);
    else if (!is_ready)
        slots_drop(ag->slots, &b->slot);
}

void flow_admit(struct agent *ag, struct attempt *a)
{
    struct batch *b = a->batch;

    a->phase = PHASE_QUEUED;
    user_lookup(a->user);
    pilot_end_admitted(ag, a);
    if (pilot_end_refuses(ag, a)) {
        flow_recall(ag, a, ag->retire->reason);
    } else if (a->user->state == USER_REFUSED) {
        flow_recall(ag, a, a->user->why);
    } else if (!slots_could_fit(ag->slots, &b->slot.need)) {
        flow_recall(ag, a, "it needs more than this node can offer");
    } else if (b->slot.is_running || b->runner != NULL || !ring_is_empty(&b->orphan)) {
        flow_recall(ag, a, "its process has started without it");
    } else {
        flow_stage(ag, a);
        flow_enqueue(ag, b);
    }
}

/* ---- given to a runner ---- */

static struct list list_cpus(const struct slot_item *slot, struct arena *arena)
{
    struct number *numbers = arena_alloc(arena, slot->n_cpus * sizeof *numbers);

    for (size_t i = 0; i < slot->n_cpus; i++)
        numbers[i].number = slot->cpus[i];
    return (struct list){ numbers, slot->n_cpus };
}

static struct list list_gpus(const struct agent *ag, const struct slot_item *slot,
                             struct arena *arena)
{
    struct gpu_entry *entries = arena_alloc(arena, slot->n_gpus * sizeof *entries);

    for (size_t i = 0; i < slot->n_gpus; i++)
        entries[i].id = ag->gpus.gpus[slot->gpus[i]].id;
    return (struct list){ entries, slot->n_gpus };
}

/* What Slurm set stays as it is for a job that has all of it. */
void flow_describe(const struct agent *ag, const struct batch *b, struct arena *arena,
                   struct given *g)
{
    const struct slot_need *need = &b->slot.need;

    *g = (struct given){ .process = b->token,
                         .is_shared = b->is_shared,
                         .user = b->user->name,
                         .cpus_milli = need->cpus_milli,
                         .gpus_milli = need->gpus_milli,
                         .memory_bytes = need->memory_bytes,
                         .cpus = list_cpus(&b->slot, arena),
                         .gpus = list_gpus(ag, &b->slot, arena),
                         .in_slurm = getenv("SLURM_JOB_ID") != NULL };
    if (g->in_slurm && g->gpus.n == ag->gpus.n)
        g->gpus.n = 0;
}

/* Before its runner has it, so that no later agent gives away what it has. */
static void record(struct agent *ag, struct batch *b)
{
    struct attempt *first = batch_first(b);
    struct given g;

    flow_describe(ag, b, first->arena, &g);
    first->order.cpus = g.cpus;
    first->order.gpus = g.gpus;
    first->order.in_slurm = g.in_slurm;
    b->is_given = true;
    registry_given(ag->registry, &g, NULL);
    registry_flush(ag->registry, NULL); /* again at the end of this turn, and with a word then */
}

static void set_given(struct agent *ag, struct attempt *a)
{
    (void)ag;
    a->phase = PHASE_GIVEN;
    a->may_be_on_scratch = true;
}

static void give(struct agent *ag, struct batch *b)
{
    struct err e = { 0 };

    record(ag, b);
    if (runners_run(&ag->runners, b, &b->user->owner, &e) == 0) {
        flow_each_member(ag, b, set_given);
        return;
    }
    log_attempt(LOG_ERROR, "not-started", batch_first(b), e.text);
    flow_process_over(ag, b);
    slots_add(ag->slots, &b->slot);
    flow_start_failed(b->user, e.text);
}

static bool may_start(const struct slot_item *item)
{
    return flow_may_try(RING_ITEM(item, const struct batch, slot)->user);
}

void flow_fill(struct agent *ag)
{
    struct slots_asking asking = { .gpus_are_known = gpus_are_known(ag), .may_start = may_start };
    struct slot_item *item;
    struct ring *at, *after;

    if (!ag->is_adopted || !ag->may_start)
        return;
    for (RING_EACH(&ag->users, at, after))
        flow_data_watch(RING_ITEM(at, struct user, ring));
    while ((item = slots_next(ag->slots, &asking)) != NULL)
        give(ag, batch_of(item));
    if (asking.gpus_are_wanted)
        gpu_poll_ask(&ag->gpuwatch);
}

/* ---- ended ---- */

void flow_ended(struct agent *ag, struct attempt *a)
{
    a->phase = PHASE_ENDED;
    ring_remove(&a->young);
    a->may_be_on_scratch = true;
    leave_batch(ag, a);
    flow_fill(ag);
    flow_order_publisher(a);
    outbox_hint(&ag->outbox, a, EV_END, units_now_ms());
}

/*
 * What never started leaves the registry before it is told, so that no later agent starts it;
 * what did stays in it until ludwigd has the outcome.
 */
static void decide(struct agent *ag, struct attempt *a, const struct report *r)
{
    a->phase = PHASE_OUTCOME;
    leave_batch(ag, a);
    if (!a->may_be_on_scratch)
        registry_gone(ag->registry, &a->token, 1, NULL);
    outbox_outcome(&ag->outbox, a, r);
}

void flow_decide(struct agent *ag, struct attempt *a, enum attempt_event event, const char *reason)
{
    decide(ag, a, outbox_report(a, event, reason));
}

void flow_preempted(struct agent *ag, struct attempt *a, enum cause cause, const char *reason)
{
    struct report *r = outbox_report(a, EV_LOSE, reason);

    r->cause = (int)cause;
    decide(ag, a, r);
}

void flow_found(struct agent *ag, struct attempt *a, const struct token *winner)
{
    bool is_ours = token_equal(winner, &a->token);
    struct report *r = outbox_report(a, is_ours ? EV_DONE : EV_SUPERSEDE, NULL);

    r->winner = *winner;
    decide(ag, a, r);
}

static const struct report *copy_report(struct attempt *a, const struct report *report)
{
    struct report *copy = arena_alloc(a->arena, sizeof *copy);
    struct buf bytes = { 0 };
    int rc;

    schema_encode(&report_schema, report, &bytes);
    rc = schema_read(&report_schema, buf_bytes(&bytes), a->arena, copy, NULL);
    buf_free(&bytes);
    return rc == 0 ? copy : outbox_report(a, EV_LOSE, "its report cannot be read");
}

void flow_published(struct agent *ag, struct attempt *a, const struct report *report)
{
    a->may_be_on_scratch = true;
    if (report->event == EV_LOSE)
        flow_doubt_data(a);
    if (report->event == EV_RECALL) /* its process did, but not it */
        a->started_at = 0;
    decide(ag, a, copy_report(a, report));
}

/* ---- what ludwigd wants ---- */

void flow_stop(struct agent *ag, struct attempt *a)
{
    if (a->phase == PHASE_QUEUED) {
        flow_decide(ag, a, EV_CANCEL, NULL);
    } else if (a->phase == PHASE_GIVEN && !a->is_stopped) {
        a->is_stopped = true;
        if (a->batch->runner != NULL)
            runner_stop(a->batch->runner, &a->token);
    }
}

void flow_recall(struct agent *ag, struct attempt *a, const char *reason)
{
    if (a->phase == PHASE_QUEUED)
        flow_decide(ag, a, EV_RECALL, reason);
}

/* ---- settled ---- */

/* What never started may have been brought a checkpoint. */
static void forget(struct agent *ag, struct attempt *a)
{
    outbox_forget(a);
    if (a->order.assignment.attempt > 1) {
        flow_add_leftover(a->user, &a->token);
        flow_discard_leftovers(a->user);
    }
    user_may_rest(a->user);
    attempts_remove(&ag->attempts, a);
}

static void withdraw(struct attempt *a)
{
    log_attempt(LOG_INFO, "withdraw", a, NULL);
    a->phase = PHASE_WITHDRAWING;
    flow_order_publisher(a);
}

static void on_settled(void *context, struct attempt *a, enum verdict verdict)
{
    struct agent *ag = context;

    if (verdict == VERDICT_WITHDRAW && a->telling.event == EV_DONE) {
        withdraw(a);
        return;
    }
    if (!a->may_be_on_scratch) {
        forget(ag, a);
        return;
    }
    a->phase = PHASE_DISCARDING;
    registry_gone(ag->registry, &a->token, 1, NULL);
    mem_grow((void **)&ag->settled, &ag->settled_capacity, ag->n_settled, sizeof *ag->settled);
    ag->settled[ag->n_settled++] = a->token;
}

static void on_unwanted(void *context, struct attempt *a)
{
    flow_stop(context, a);
    flow_fill(context);
}

static int64_t send_batch(void *context, const struct msg_report *m)
{
    struct agent *ag = context;
    struct msg_report said = *m;

    said.said_at = units_now_ms();
    return server_link_send(ag->link, MSG_REPORT, 0, &said);
}

const struct outbox_events flow_outbox_events = { send_batch, on_settled, on_unwanted };

/* In this order, so that no attempt is in the registry of which nothing is left: a later agent
 * would take it for one that never started. */
void flow_discard_settled(struct agent *ag)
{
    for (size_t i = 0; i < ag->n_settled; i++) {
        const struct attempt *a = attempts_find(&ag->attempts, &ag->settled[i]);

        if (a != NULL)
            flow_order_publisher(a);
    }
    ag->n_settled = 0;
}

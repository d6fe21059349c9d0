/* SPDX-License-Identifier: MIT */
/* flow.c - the way of an attempt: queued, given, ended, told, settled */

#include "worker/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/units.h"
#include "worker/reap.h"

enum { ORPHAN_AT_FIRST_MS = 5, ORPHAN_AT_MOST_MS = 2000 };

static void log_attempt(enum log_level level, const char *event, const struct attempt *a,
                        const char *reason)
{
    const struct assignment *is = &a->order.assignment;

    log_event(level, event, "sweep", "%lld", (long long)is->sweep, "job", "%lld",
              (long long)is->job, "attempt", "%lld", (long long)is->attempt, "reason", "%s",
              reason == NULL ? "" : reason, NULL);
}

static struct attempt *attempt_of(struct slot_item *item)
{
    return RING_ITEM(item, struct attempt, slot);
}

/* ---- queued ---- */

void flow_admit(struct agent *ag, struct attempt *a)
{
    a->phase = PHASE_QUEUED;
    if (!slots_could_fit(ag->slots, &a->slot.need)) {
        flow_recall(ag, a, "it needs more than this node can offer");
        return;
    }
    flow_stage(ag, a);
    if (flow_is_staged(ag, a))
        slots_add(ag->slots, &a->slot);
}

/* ---- given to a runner ---- */

static void list_cpus(struct attempt *a)
{
    struct number *numbers = arena_alloc(a->arena, a->slot.n_cpus * sizeof *numbers);

    for (size_t i = 0; i < a->slot.n_cpus; i++)
        numbers[i].number = a->slot.cpus[i];
    a->order.cpus = (struct list){ numbers, a->slot.n_cpus };
}

/* What Slurm set stays as it is for a job that has all of it. */
static void list_gpus(const struct agent *ag, struct attempt *a)
{
    struct gpu_entry *entries = arena_alloc(a->arena, a->slot.n_gpus * sizeof *entries);

    a->order.in_slurm = getenv("SLURM_JOB_ID") != NULL;
    a->order.gpus = (struct list){ entries, a->slot.n_gpus };
    for (size_t i = 0; i < a->slot.n_gpus; i++)
        entries[i].id = ag->gpus.gpus[a->slot.gpus[i]].id;
    if (a->order.in_slurm && a->slot.n_gpus == ag->gpus.n)
        a->order.gpus.n = 0;
}

static int give(struct agent *ag, struct attempt *a)
{
    struct err e = { 0 };

    list_cpus(a);
    list_gpus(ag, a);
    if (runners_run(&ag->runners, a, &e) == 0) {
        a->phase = PHASE_GIVEN;
        a->may_be_on_scratch = true;
        return 0;
    }
    log_attempt(LOG_ERROR, "not-started", a, e.text);
    slots_release(ag->slots, &a->slot);
    slots_add(ag->slots, &a->slot);
    flow_start_failed(ag, e.text);
    return -1;
}

void flow_fill(struct agent *ag)
{
    struct slots_gpus gpus = { .are_known = gpus_are_known(ag) };
    struct slot_item *item;

    if (!ag->is_adopted || !ag->may_start)
        return;
    while (flow_may_try(ag) && (item = slots_next(ag->slots, &gpus)) != NULL)
        if (give(ag, attempt_of(item)) < 0)
            break;
    if (gpus.are_wanted)
        gpuwatch_ask(&ag->gpuwatch);
}

/* ---- ended ---- */

void flow_ended(struct agent *ag, struct attempt *a)
{
    a->phase = PHASE_ENDED;
    a->runner = NULL;
    ring_remove(&a->young);
    a->may_be_on_scratch = true;
    slots_release(ag->slots, &a->slot);
    flow_fill(ag);
    flow_order_publisher(ag, a);
    outbox_hint(&ag->outbox, a, EV_END, units_now_ms());
}

/*
 * What never started leaves the registry before it is told, so that no later agent starts it;
 * what did stays in it until ludwigd has the outcome.
 */
static void decide(struct agent *ag, struct attempt *a, const struct report *r)
{
    a->phase = PHASE_OUTCOME;
    slots_drop(ag->slots, &a->slot);
    slots_release(ag->slots, &a->slot);
    if (!a->may_be_on_scratch)
        registry_gone(ag->registry, &a->token, 1, NULL);
    outbox_outcome(&ag->outbox, a, r);
}

void flow_decide(struct agent *ag, struct attempt *a, enum attempt_event event, const char *reason)
{
    decide(ag, a, outbox_report(a, event, reason));
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
        flow_unstage(ag, a);
    decide(ag, a, copy_report(a, report));
}

/* ---- orphaned ---- */

static void on_orphan_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    struct ring *at, *after;

    for (RING_EACH(&ag->orphans, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, orphan);

        if (!a->is_stale && reap_kill(&a->token) > 0)
            continue;
        ring_remove(&a->orphan);
        flow_decide(ag, a, EV_LOSE, a->is_stale ? "the machine was restarted" : "runner-lost");
    }
    flow_fill(ag);
    if (ring_is_empty(&ag->orphans))
        return;
    ag->orphan_ms = ag->orphan_ms * 2 < ORPHAN_AT_MOST_MS ? ag->orphan_ms * 2 : ORPHAN_AT_MOST_MS;
    uv_timer_start(timer, on_orphan_timer, ag->orphan_ms, 0);
}

void flow_orphaned(struct agent *ag, struct attempt *a)
{
    if (a->phase == PHASE_ORPHANED)
        return;
    log_attempt(LOG_WARN, "runner-lost", a, NULL);
    a->phase = PHASE_ORPHANED;
    a->may_be_on_scratch = true;
    a->runner = NULL;
    ring_add_last(&ag->orphans, &a->orphan);
    ag->orphan_ms = ORPHAN_AT_FIRST_MS;
    uv_timer_start(&ag->orphan_timer, on_orphan_timer, 0, 0);
}

/* ---- what ludwigd wants ---- */

void flow_stop(struct agent *ag, struct attempt *a)
{
    if (a->phase == PHASE_QUEUED) {
        flow_decide(ag, a, EV_CANCEL, NULL);
    } else if (a->phase == PHASE_GIVEN && !a->is_stopped) {
        a->is_stopped = true;
        if (a->runner != NULL)
            runner_stop(a->runner);
    }
}

void flow_recall(struct agent *ag, struct attempt *a, const char *reason)
{
    if (a->phase == PHASE_QUEUED)
        flow_decide(ag, a, EV_RECALL, reason);
}

/* ---- settled ---- */

static void forget(struct agent *ag, struct attempt *a)
{
    outbox_forget(a);
    attempts_remove(&ag->attempts, a);
}

static void withdraw(struct agent *ag, struct attempt *a)
{
    log_attempt(LOG_INFO, "withdraw", a, NULL);
    a->phase = PHASE_WITHDRAWING;
    flow_order_publisher(ag, a);
}

static void on_settled(void *context, struct attempt *a, enum verdict verdict)
{
    struct agent *ag = context;

    if (verdict == VERDICT_WITHDRAW && a->telling.event == EV_DONE) {
        withdraw(ag, a);
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
}

static int64_t send_batch(void *context, const struct msg_report *m)
{
    struct agent *ag = context;

    return link_send(ag->link, MSG_REPORT, 0, m);
}

const struct outbox_events flow_outbox_events = { send_batch, on_settled, on_unwanted };

/* In this order, so that no attempt is in the registry of which nothing is left: a later agent
 * would take it for one that never started. */
void flow_discard_settled(struct agent *ag)
{
    for (size_t i = 0; i < ag->n_settled; i++) {
        const struct attempt *a = attempts_find(&ag->attempts, &ag->settled[i]);

        if (a != NULL)
            flow_order_publisher(ag, a);
    }
    ag->n_settled = 0;
}

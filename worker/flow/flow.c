/* SPDX-License-Identifier: MIT */
/* flow.c - the way of an attempt: the one place where events become phases and effects */

#include "worker/flow/flow.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/runtime_dir.h"
#include "worker/flow/adopt.h"
#include "worker/flow/flow_pack.h"
#include "worker/flow/flow_pause.h"
#include "worker/flow/flow_publish.h"
#include "worker/flow/flow_recover.h"
#include "worker/flow/flow_runners.h"
#include "worker/flow/flow_stage.h"
#include "worker/flow/pilot_end.h"

static void log_attempt(enum log_level level, const char *event, const struct attempt *a,
                        const char *reason)
{
    const struct assignment *is = &a->order.assignment;

    log_event(level, event, "sweep", "%lld", (long long)is->sweep, "job", "%lld",
              (long long)is->job, "attempt", "%lld", (long long)is->attempt, "reason", "%s",
              reason == NULL ? "" : reason, NULL);
}

static void end_if_over(struct agent *ag, struct batch *b)
{
    if (!batch_is_over(b))
        return;
    slots_drop(ag->slots, &b->slot);
    slots_release(ag->slots, &b->slot);
    batch_destroy(b);
}

/* One that waits goes on without it, and may be what the others waited for. */
static void leave_batch(struct agent *ag, struct attempt *a)
{
    struct batch *b = a->batch;

    ring_remove(&a->aside);
    if (b == NULL)
        return;
    batch_leave(a);
    flow_stage_leave(a);
    if (ring_is_empty(&b->members))
        end_if_over(ag, b);
    else
        flow_stage_check(ag, b);
}

/* ---- effects: it starts, it ends ---- */

static void queue(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    struct slot_item *slot = &a->batch->slot;

    (void)ev;
    if (!slot->is_waiting && !slot->is_running)
        slots_add(ag->slots, slot);
}

static void unqueue(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    slots_drop(ag->slots, &a->batch->slot);
}

static void give(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ag, (void)ev;
    a->may_be_on_scratch = true;
}

static void start(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    a->started_at = ev->at;
    flow_publish_watch_soon(ag, a);
    outbox_hint(&ag->outbox, a, EV_RUN, ev->at);
}

static void take_over(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    pilot_end_admitted(ag, a);
    a->may_be_on_scratch = true;
    if (a->is_unwanted && a->batch->runner != NULL)
        runner_stop(a->batch->runner, &a->token);
    flow_publish_watch(a);
}

static void stop(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ag, (void)ev;
    if (!a->is_unwanted && a->batch->runner != NULL)
        runner_stop(a->batch->runner, &a->token);
    a->is_unwanted = true;
}

static void take_slot(struct agent *ag, struct batch *b)
{
    if (!b->slot.is_running)
        slots_take(ag->slots, &b->slot);
}

static void take_slot_of(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    take_slot(ag, a->batch);
}

static void orphan(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    log_attempt(LOG_WARN, "runner-lost", a, NULL);
    a->may_be_on_scratch = true;
    flow_post_process(ag, a->batch, PROCESS_EV_ORPHANED);
}

/* One that has ended without having started: that was this machine's fault. */
static void publish(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    a->may_be_on_scratch = true;
    if (a->started_at == 0 && ev->reason != NULL)
        flow_pause_failed(a->user, ev->reason);
    leave_batch(ag, a);
    flow_publish_order(a);
    outbox_hint(&ag->outbox, a, EV_END, units_now_ms());
}

/* ---- effects: what ludwigd is told, and its answer ---- */

/* What never started leaves the registry before it is told, so that no later agent starts it;
 * what did stays in it until ludwigd has the outcome. */
static void tell(struct agent *ag, struct attempt *a, const struct report *r)
{
    leave_batch(ag, a);
    if (!a->may_be_on_scratch)
        registry_gone(ag->registry, &a->token, NULL);
    outbox_outcome(&ag->outbox, a, r);
}

static void tell_found(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    bool is_ours = token_equal(&ev->winner, &a->token);
    struct report *r = outbox_report(a, is_ours ? EV_DONE : EV_SUPERSEDE, NULL);

    r->winner = ev->winner;
    tell(ag, a, r);
}

static void tell_cancelled(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    tell(ag, a, outbox_report(a, EV_CANCEL, NULL));
}

static void tell_recalled(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    tell(ag, a, outbox_report(a, EV_RECALL, ev->reason));
}

static void tell_lost(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    struct report *r = outbox_report(a, EV_LOSE, ev->reason);

    r->cause = (int)ev->cause;
    tell(ag, a, r);
}

static void tell_finished(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    tell(ag, a, outbox_report(a, a->finish_event, a->finish_reason));
}

static void tell_report(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    a->may_be_on_scratch = true;
    if (ev->report->event == EV_LOSE)
        flow_stage_doubt(a);
    if (ev->report->event == EV_RECALL) /* its process did start, but not it */
        a->started_at = 0;
    tell(ag, a, ev->report);
}

static void tell_withdrawn(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    tell(ag, a, outbox_report(a, EV_WITHDRAW, NULL));
}

static void withdraw(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ag, (void)ev;
    log_attempt(LOG_INFO, "withdraw", a, NULL);
    flow_publish_order(a);
}

/* What never started may have been brought a checkpoint. */
static void settle(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ev;
    if (a->may_be_on_scratch) {
        registry_gone(ag->registry, &a->token, NULL);
        ring_add_last(&ag->settled, &a->aside);
        return;
    }
    if (a->order.assignment.attempt > 1) {
        user_add_leftover(a->user, &a->token);
        user_discard_leftovers(a->user);
    }
    flow_post(ag, a, EVENT_DISCARDED, NULL);
}

static void forget(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    struct user *u = a->user;

    (void)ev;
    attempts_remove(&ag->attempts, a);
    user_may_rest(u);
}

/* ---- events ---- */

typedef void attempt_effect(struct agent *ag, struct attempt *a, const struct flow_event *ev);
typedef void process_effect(struct agent *ag, struct batch *b);

static attempt_effect *const attempt_effects[EFFECT_COUNT] = {
    [EFFECT_ADMIT] = flow_stage_admit,
    [EFFECT_QUEUE] = queue,
    [EFFECT_UNQUEUE] = unqueue,
    [EFFECT_GIVE] = give,
    [EFFECT_START] = start,
    [EFFECT_TAKE_OVER] = take_over,
    [EFFECT_TAKE_SLOT] = take_slot_of,
    [EFFECT_ORPHAN] = orphan,
    [EFFECT_FINISH] = flow_recover_finish,
    [EFFECT_PUBLISH] = publish,
    [EFFECT_STOP] = stop,
    [EFFECT_TELL_FOUND] = tell_found,
    [EFFECT_TELL_CANCELLED] = tell_cancelled,
    [EFFECT_TELL_RECALLED] = tell_recalled,
    [EFFECT_TELL_LOST] = tell_lost,
    [EFFECT_TELL_FINISHED] = tell_finished,
    [EFFECT_TELL_REPORT] = tell_report,
    [EFFECT_TELL_WITHDRAWN] = tell_withdrawn,
    [EFFECT_SETTLE] = settle,
    [EFFECT_WITHDRAW] = withdraw,
    [EFFECT_FORGET] = forget,
};

static process_effect *const process_effects[EFFECT_COUNT] = {
    [EFFECT_TAKE_SLOT] = take_slot,          [EFFECT_SEEK] = flow_recover_seek,
    [EFFECT_END] = flow_recover_end,         [EFFECT_ASK] = flow_recover_ask,
    [EFFECT_RELEASE] = flow_recover_release, [EFFECT_KILL_SOON] = flow_recover_kill_soon,
    [EFFECT_KILL] = flow_recover_kill,       [EFFECT_BURY] = flow_recover_bury,
};

static void take_attempt_event(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    const struct step *step = &attempt_steps[a->phase][ev->event];

    if (step->effect == EFFECT_REFUSED) {
        log_event(LOG_DEBUG, "event-refused", "phase", "%s", phase_names[a->phase], "event", "%s",
                  event_names[ev->event], "job", "%lld", (long long)a->order.assignment.job, NULL);
        return;
    }
    attempts_move(&ag->attempts, a, (enum phase)step->next);
    if (step->effect != EFFECT_NONE)
        attempt_effects[step->effect](ag, a, ev);
}

static void take_process_event(struct agent *ag, struct batch *b, const struct flow_event *ev)
{
    const struct step *step = &process_steps[b->phase][ev->event];

    if (step->effect == EFFECT_REFUSED) {
        log_event(LOG_DEBUG, "event-refused", "process", "%s", process_phase_names[b->phase],
                  "event", "%s", process_event_names[ev->event], NULL);
        return;
    }
    b->phase = (enum process_phase)step->next;
    if (step->effect != EFFECT_NONE)
        process_effects[step->effect](ag, b);
    end_if_over(ag, b);
}

static void take_events(struct agent *ag)
{
    struct flow_event *ev;

    while ((ev = flow_take_event(ag)) != NULL) {
        struct attempt *a = NULL;
        struct batch *b = NULL;

        if (ev->is_of_process)
            b = attempts_find_process(&ag->attempts, &ev->token);
        else
            a = attempts_find(&ag->attempts, &ev->token);
        if (a != NULL)
            take_attempt_event(ag, a, ev);
        else if (b != NULL)
            take_process_event(ag, b, ev);
        flow_event_free(ev);
    }
}

/* ---- slots ---- */

/* Before a runner has it, so that no later agent gives away what it has. */
static int record_given(struct agent *ag, struct batch *b, struct err *e)
{
    struct attempt *first = batch_first(b);
    struct given g;

    runtime_dir_describe_given(ag, b, first->arena, &g);
    first->order.cpus = g.cpus;
    first->order.gpus = g.gpus;
    first->order.in_slurm = g.in_slurm;
    if (registry_given(ag->registry, &g, e) < 0)
        return -1;
    return registry_flush(ag->registry, e);
}

static void start_batch(struct agent *ag, struct batch *b)
{
    struct err e = { 0 };
    struct ring *at, *after;

    if (record_given(ag, b, &e) < 0) {
        ag->is_registry_stuck = true;
        log_event(LOG_ERROR, "registry", "why", "%s", e.text, NULL);
    } else if (runners_run(&ag->runners, b, &b->user->owner, &e) < 0) {
        log_attempt(LOG_ERROR, "not-started", batch_first(b), e.text);
        flow_recover_release(ag, b);
        flow_pause_failed(b->user, e.text);
    } else {
        flow_post_process(ag, b, PROCESS_EV_GIVEN);
        for (RING_EACH(&b->members, at, after))
            flow_post(ag, RING_ITEM(at, struct attempt, mate), EVENT_GIVEN, NULL);
        return;
    }
    slots_release(ag->slots, &b->slot);
    slots_add(ag->slots, &b->slot);
}

static bool may_start(const struct slot_item *item)
{
    return flow_pause_may_try(RING_ITEM(item, const struct batch, slot)->user);
}

/* Starts what fits, after a look whether data were changed. */
static void fill_slots(struct agent *ag)
{
    struct slots_asking asking = { .gpus_are_known =
                                       !ag->gpus_can_be_asked || gpu_poll_is_fresh(&ag->gpuwatch),
                                   .may_start = may_start };
    struct ring *at, *after;
    struct slot_item *item;

    if (!ag->is_adopted || !ag->may_start || !slots_has_waiting(ag->slots))
        return;
    for (RING_EACH(&ag->users, at, after))
        flow_stage_look(RING_ITEM(at, struct user, ring));
    take_events(ag);
    while (!ag->is_registry_stuck && (item = slots_next(ag->slots, &asking)) != NULL) {
        start_batch(ag, RING_ITEM(item, struct batch, slot));
        take_events(ag); /* whether another may start hangs on whether this one did */
    }
    if (asking.gpus_are_wanted && !gpu_poll_is_asking(&ag->gpuwatch))
        gpu_poll_ask(&ag->gpuwatch);
}

void flow_turn(struct agent *ag)
{
    if (ag->slots == NULL)
        return;
    do {
        take_events(ag);
        adopt_turn(ag);
        fill_slots(ag);
    } while (!ring_is_empty(&ag->events));
}

/* ---- begin and end ---- */

int flow_meet_server(struct agent *ag, const char *server_id, struct err *e)
{
    if (runtime_dir_settle(ag, server_id, e) < 0)
        return -1;
    runners_init(&ag->runners, &ag->loop, ag->home_fd, &flow_runners_events, ag);
    adopt_begin(ag);
    return 0;
}

void flow_free(struct agent *ag)
{
    struct flow_event *ev;

    while ((ev = flow_take_event(ag)) != NULL)
        flow_event_free(ev);
    flow_recover_free(ag);
    flow_pack_free(ag);
}

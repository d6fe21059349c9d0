/* SPDX-License-Identifier: MIT */
/* flow.c - takes events of attempts and batches: sets their phases and carries out the effects */

#include "worker/flow/flow.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/runtime_dir.h"
#include "worker/base/scratch.h"
#include "worker/flow/disk_room.h"
#include "worker/flow/flow_pack.h"
#include "worker/flow/flow_peek.h"
#include "worker/flow/flow_publish.h"
#include "worker/flow/flow_recover.h"
#include "worker/flow/flow_stage.h"
#include "worker/flow/gpus.h"
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

/* Takes the attempt out of its batch; the other members may have waited for it and be ready now. */
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

/* ---- effects ---- */

/* Records that the attempt is gone.  If it was the last of a sweep to which values were passed from
 * a shell, the registry is to be rewritten without these. */
static void forget(struct agent *ag, const struct attempt *a)
{
    registry_gone(ag->registry, &a->token, NULL);
    if (a->order.work.work.passed.n == 0)
        return;
    for (RING_EACH(const struct attempt, other, &ag->attempts.all, ring))
        if (other != a && attempt_is_recorded(other) &&
            other->order.assignment.sweep == a->order.assignment.sweep)
            return;
    registry_forget(ag->registry);
}

/* An attempt that never started leaves the registry before its outcome is told, so that no later
 * agent starts it; one that started stays in it until ludwigd has the outcome. */
static void tell_outcome(struct agent *ag, struct attempt *a, enum effect effect,
                         const struct flow_event *ev)
{
    struct report *r = NULL;

    switch (effect) {
    case EFFECT_TELL_FOUND:
        r = outbox_report(a, token_equal(&ev->winner, &a->token) ? EV_DONE : EV_SUPERSEDE, NULL);
        r->winner = ev->winner;
        break;
    case EFFECT_TELL_CANCELLED: r = outbox_report(a, EV_CANCEL, NULL); break;
    case EFFECT_TELL_RECALLED: r = outbox_report(a, EV_RECALL, ev->reason); break;
    case EFFECT_TELL_LOST:
        r = outbox_report(a, EV_LOSE, ev->reason);
        r->cause = (int)ev->cause;
        break;
    case EFFECT_TELL_FINISHED:
        r = outbox_report(a, a->finish_event, a->finish_reason);
        r->cause = (int)a->finish_cause;
        break;
    case EFFECT_TELL_WITHDRAWN: r = outbox_report(a, EV_WITHDRAW, NULL); break;
    default: /* EFFECT_TELL_REPORT */
        a->may_be_on_scratch = true;
        if (ev->report->event == EV_LOSE)
            flow_stage_doubt(a);
        if (ev->report->event == EV_RECALL) /* its process started, but the attempt did not */
            a->started_at = 0;
    }
    leave_batch(ag, a);
    if (!a->may_be_on_scratch)
        forget(ag, a);
    outbox_outcome(&ag->outbox, a, r != NULL ? r : ev->report);
}

/* Has the attempt's files discarded; one that never started may have a checkpoint on scratch. */
static void settle_attempt(struct agent *ag, struct attempt *a)
{
    if (a->may_be_on_scratch) {
        forget(ag, a);
        ring_add_last(&ag->settled, &a->aside);
        return;
    }
    if (order_goes_on(&a->order)) {
        user_add_leftover(a->user, &a->token);
        user_discard_leftovers(a->user);
    }
    flow_post(ag, a, EVENT_DISCARDED, NULL);
}

static void take_slot(struct agent *ag, struct batch *b)
{
    if (!b->slot.is_running)
        slots_take(ag->slots, &b->slot);
}

/* Stops the attempt; the process of its batch is stopped when no member is wanted any more. */
static void stop_attempt(struct agent *ag, struct attempt *a)
{
    struct batch *b = a->batch;

    a->is_unwanted = true;
    if (b->runner != NULL && b->is_shared)
        runner_stop(b->runner, &a->token);
    for (RING_EACH(const struct attempt, mate, &b->members, mate))
        if (!mate->is_unwanted)
            return;
    runners_stop(&ag->runners, &b->token);
}

/* A runner that is not known yet is told later, when it says that it has the attempt. */
static void stop_early(const struct attempt *a)
{
    if (a->batch->runner != NULL && !a->batch->is_shared)
        runner_stop_early(a->batch->runner, a->early_reason);
}

/* Lists a slot's GPUs as in CUDA_VISIBLE_DEVICES; NULL: none, or the text is too long. */
static const char *list_gpu_ids(const struct agent *ag, const struct slot_item *slot,
                                struct arena *arena)
{
    struct buf ids = { 0 };
    const char *copy = NULL;

    for (size_t i = 0; i < slot->n_gpus; i++)
        buf_printf(&ids, "%s%s", i > 0 ? "," : "", ag->gpus.gpus[slot->gpus[i]].id);
    if (ids.n > 0 && ids.n <= GPU_IDS_MAX_BYTES)
        copy = arena_strdup(arena, buf_text(&ids));
    buf_free(&ids);
    return copy;
}

static void take_effect(struct agent *ag, struct attempt *a, enum effect effect,
                        const struct flow_event *ev)
{
    struct batch *b = a->batch;
    struct user *u = a->user;

    switch (effect) {
    case EFFECT_NONE: break;
    case EFFECT_ADMIT: flow_stage_admit(ag, a); break;
    case EFFECT_QUEUE:
        if (!b->slot.is_waiting && !b->slot.is_running)
            slots_add(ag->slots, &b->slot);
        break;
    case EFFECT_UNQUEUE: slots_drop(ag->slots, &b->slot); break;
    case EFFECT_GIVE: a->may_be_on_scratch = true; break;
    case EFFECT_START:
        a->started_at = ev->at;
        a->gpu_ids = list_gpu_ids(ag, &b->slot, a->arena);
        flow_publish_watch_soon(ag, a);
        outbox_hint(&ag->outbox, a, EV_RUN, ev->at);
        break;
    case EFFECT_TAKE_OVER:
        pilot_end_admitted(ag, a);
        a->may_be_on_scratch = true;
        if (a->is_unwanted)
            stop_attempt(ag, a);
        else if (a->early_reason != NULL)
            stop_early(a);
        flow_publish_watch(a);
        break;
    case EFFECT_STOP:
        if (!a->is_unwanted)
            stop_attempt(ag, a);
        break;
    case EFFECT_STOP_EARLY:
        a->early_reason = arena_strdup(a->arena, ev->reason == NULL ? "" : ev->reason);
        stop_early(a);
        break;
    case EFFECT_TAKE_SLOT: take_slot(ag, b); break;
    case EFFECT_ORPHAN:
        log_attempt(LOG_WARN, "runner-lost", a, NULL);
        a->may_be_on_scratch = true;
        flow_post_process(ag, b, PROCESS_EV_ORPHANED);
        break;
    case EFFECT_FINISH: flow_recover_finish(a, ev); break;
    case EFFECT_PUBLISH:
        a->may_be_on_scratch = true;
        /* The attempt could not be started, by this machine's fault. */
        if (a->started_at == 0 && ev->reason != NULL)
            flow_stage_start_failed(u, ev->reason);
        leave_batch(ag, a);
        flow_publish_order(a);
        outbox_hint(&ag->outbox, a, EV_END, units_now_ms());
        break;
    case EFFECT_SETTLE: settle_attempt(ag, a); break;
    case EFFECT_WITHDRAW:
        log_attempt(LOG_INFO, "withdraw", a, NULL);
        flow_publish_order(a);
        break;
    case EFFECT_FORGET:
        attempts_remove(&ag->attempts, a);
        user_may_rest(u);
        break;
    default: tell_outcome(ag, a, effect, ev);
    }
}

static void (*const process_effects[EFFECT_COUNT])(struct agent *ag, struct batch *b) = {
    [EFFECT_TAKE_SLOT] = take_slot,          [EFFECT_SEEK] = flow_recover_seek,
    [EFFECT_END] = flow_recover_end,         [EFFECT_ASK] = flow_recover_ask,
    [EFFECT_RELEASE] = flow_recover_release, [EFFECT_KILL_SOON] = flow_recover_kill_soon,
    [EFFECT_KILL] = flow_recover_kill,       [EFFECT_BURY] = flow_recover_bury,
};

/* ---- events ---- */

static void take_event(struct agent *ag, const struct flow_event *ev)
{
    struct attempt *a = ev->is_of_process ? NULL : attempts_find(&ag->attempts, &ev->token);
    struct batch *b = ev->is_of_process ? attempts_find_process(&ag->attempts, &ev->token) : NULL;
    const struct step *step;

    if (a == NULL && b == NULL)
        return;
    step = a != NULL ? &attempt_steps[a->phase][ev->event] : &process_steps[b->phase][ev->event];
    if (step->effect == EFFECT_REFUSED && a != NULL) {
        log_event(LOG_DEBUG, "event-refused", "phase", "%s", phase_names[a->phase], "event", "%s",
                  event_names[ev->event], "job", "%lld", (long long)a->order.assignment.job, NULL);
    } else if (step->effect == EFFECT_REFUSED) {
        log_event(LOG_DEBUG, "event-refused", "process", "%s", process_phase_names[b->phase],
                  "event", "%s", process_event_names[ev->event], NULL);
    } else if (a != NULL) {
        attempts_move(&ag->attempts, a, (enum phase)step->next);
        take_effect(ag, a, step->effect, ev);
    } else {
        b->phase = (enum process_phase)step->next;
        if (step->effect != EFFECT_NONE)
            process_effects[step->effect](ag, b);
        end_if_over(ag, b);
    }
}

static void take_events(struct agent *ag)
{
    struct flow_event *ev;

    do {
        while ((ev = flow_take_event(ag)) != NULL) {
            take_event(ag, ev);
            flow_event_free(ev);
        }
    } while (flow_stage_check_due(ag));
}

/* ---- slots ---- */

/* Lowers the job's disk to what worker.yaml allows a job. */
static void limit_disk(struct agent *ag, struct resources *r)
{
    int64_t most = ag->conf.disk_per_job_bytes;

    if (most > 0 && (r->disk_bytes == 0 || r->disk_bytes > most))
        r->disk_bytes = most;
}

/* Records what the batch gets before a runner has it, so that no later agent gives that away. */
static void start_batch(struct agent *ag, struct batch *b)
{
    struct attempt *first = batch_first(b);
    struct err e = { 0 };
    struct given g;

    if (scratch_check_room(b->user->owner.scratch, &e) < 0) {
        flow_stage_start_failed(b->user, e.text);
        slots_release(ag->slots, &b->slot);
        slots_add(ag->slots, &b->slot);
        return;
    }
    limit_disk(ag, &first->order.work.work.resources);
    runtime_dir_describe_given(ag, b, first->arena, &g);
    first->order.cpus = g.cpus;
    first->order.gpus = g.gpus;
    first->order.in_slurm = g.in_slurm;
    if (registry_given(ag->registry, &g, &e) < 0 || registry_flush(ag->registry, &e) < 0) {
        ag->is_registry_stuck = true;
        log_event(LOG_ERROR, "registry", "why", "%s", e.text, NULL);
    } else if (runners_run(&ag->runners, b, &b->user->owner, &e) < 0) {
        log_attempt(LOG_ERROR, "not-started", first, e.text);
        flow_recover_release(ag, b);
        flow_stage_start_failed(b->user, e.text);
    } else {
        flow_post_process(ag, b, PROCESS_EV_GIVEN);
        for (RING_EACH(const struct attempt, a, &b->members, mate))
            flow_post(ag, a, EVENT_GIVEN, NULL);
        return;
    }
    slots_release(ag->slots, &b->slot);
    slots_add(ag->slots, &b->slot);
}

static bool may_start(const struct slot_item *item)
{
    return flow_stage_may_try(RING_ITEM(item, const struct batch, slot)->user);
}

/* Starts what fits, after looking whether data were changed. */
static void fill_slots(struct agent *ag)
{
    struct slots_asking asking = { .gpus_are_known = gpus_are_known(ag),
                                   .may_start = may_start,
                                   .has_room = disk_room_fits };
    struct slot_item *item;

    if (!ag->is_adopted || !ag->may_start || !slots_has_waiting(ag->slots))
        return;
    for (RING_EACH(struct user, u, &ag->users, ring))
        flow_stage_look(u);
    take_events(ag);
    while (!ag->is_registry_stuck && (item = slots_next(ag->slots, &asking)) != NULL) {
        start_batch(ag, RING_ITEM(item, struct batch, slot));
        take_events(ag); /* another may start only if this one did */
    }
    if (asking.gpus_are_wanted)
        gpus_ask(ag);
}

void flow_turn(struct agent *ag)
{
    if (ag->slots == NULL)
        return;
    do {
        take_events(ag);
        flow_recover_turn(ag);
        fill_slots(ag);
    } while (!ring_is_empty(&ag->events));
}

/* ---- notes of runners ---- */

static void on_started(struct agent *ag, struct runner *r, const struct note_started *note)
{
    struct batch *b = runner_batch(r);

    if (b == NULL || !token_equal(&b->token, &note->token))
        return;
    for (RING_EACH(struct attempt, a, &b->members, mate))
        flow_post(ag, a, EVENT_STARTED, NULL)->at = note->at;
    flow_stage_start_succeeded(b->user);
    if (b->slot.n_gpus > 0)
        gpus_job_started(ag);
}

/* The process of a shared batch ends after its attempts; that of a single attempt with it. */
static void on_ended(struct agent *ag, struct runner *r, const struct token *token,
                     const char *trouble)
{
    const struct attempt *a = attempts_find(&ag->attempts, token);
    const struct batch *b = attempts_find_process(&ag->attempts, token);

    if (b != NULL && runner_is_of(r, &b->user->owner) && b->runner == NULL)
        flow_post_process(ag, b, PROCESS_EV_ENDED);
    if (a != NULL && runner_is_of(r, &a->user->owner))
        flow_post(ag, a, EVENT_ENDED, trouble);
}

static void on_measured(struct agent *ag, const struct note_measured *note)
{
    measures_add(&ag->measures, note->values.items, note->values.n);
}

/* A line that comes without a connection is dropped: the advisor's session ended with that. */
static void on_advice(struct agent *ag, struct runner *r, const struct note_advice *note)
{
    const struct attempt *a = attempts_find(&ag->attempts, &note->token);

    if (a != NULL && runner_is_of(r, &a->user->owner) && a->order.assignment.advises &&
        ag->is_registered)
        server_link_send(ag->link, MSG_ADVICE, 0,
                         &(struct msg_advice){ note->token, note->line, note->is_ready });
}

/* A runner of an earlier agent may not have said yet what it has. */
static void on_overdue(struct agent *ag, struct runner *r, const struct token *process,
                       bool was_to_stop)
{
    struct batch *b = attempts_find_process(&ag->attempts, process);

    if (b == NULL || !runner_is_of(r, &b->user->owner)) {
        log_event(LOG_WARN, "runner-killed", "user", "%s",
                  runner_user(r) == NULL ? "" : runner_user(r), NULL);
        return;
    }
    if (b->runner == NULL && runner_batch(r) == NULL)
        runner_assign(r, b);
    b->is_overdue = true;
    for (RING_EACH(struct attempt, a, &b->members, mate)) {
        a->is_unwanted |= was_to_stop;
        log_attempt(LOG_WARN, "runner-killed", a,
                    was_to_stop ? "it did not end the job when it was told to"
                                : "it did not end the job at its time limit");
    }
}

/* The janitor is asked only after all runners of an earlier agent have said what they run. */
static void on_lost(struct agent *ag, struct batch *b)
{
    if (b == NULL)
        return;
    if (ag->is_resolving || ag->is_adopted || batch_first(b) == NULL) {
        b->has_lost_runner = true;
        flow_post_process(ag, b, PROCESS_EV_MISSED);
        return;
    }
    for (RING_EACH(struct attempt, a, &b->members, mate))
        flow_post(ag, a, EVENT_LEFT, NULL);
}

static const struct runner_events runner_events = { flow_recover_hello, on_started, on_ended,
                                                    on_measured,        on_advice,  on_overdue,
                                                    disk_room_said,     on_lost };

/* ---- users, known or refused on this machine ---- */

static void on_known(struct user *u)
{
    struct agent *ag = u->agent;

    service_go_on(&u->stager);
    service_go_on(&u->publisher);
    service_go_on(&u->janitor);
    service_go_on(&u->packer);
    if (!u->is_surveyed && !u->is_surveying && ag->is_resolving)
        flow_recover_survey(u);
    flow_stage_check_soon(u);
    ag->is_register_due = true; /* the user may have been refused before */
    flow_stage_tell_cached(u);
    user_may_rest(u);
}

static void on_refused(struct user *u)
{
    struct agent *ag = u->agent;

    ag->is_register_due = true;
    flow_pack_refuse(u);
    flow_stage_expect_none(u);
    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a)) {
        flow_post(ag, a, EVENT_RECALL, u->why);
        if (!u->is_gone)
            continue;
        /* The files of such an attempt can neither be looked at nor published. */
        if (a->phase == PHASE_MUTE || a->phase == PHASE_MISSING || a->phase == PHASE_UNNAMED ||
            a->phase == PHASE_PUBLISHING)
            flow_post(ag, a, EVENT_LOSE, u->why);
        else if (a->phase == PHASE_FINISHING)
            flow_post(ag, a, EVENT_FINISHED, NULL);
        else if (a->phase == PHASE_DISCARDING)
            flow_post(ag, a, EVENT_DISCARDED, NULL);
    }
    for (RING_EACH(const struct batch, b, &ag->attempts.batches, ring))
        if (u->is_gone && b->user == u && b->phase == PROCESS_SOUGHT)
            flow_post_process(ag, b, PROCESS_EV_NOTHING);
}

static const struct user_events user_events = {
    .named = flow_stage_init_guard,
    .known = on_known,
    .refused = on_refused,
    .is_busy = flow_pack_is_busy,
    .gone = flow_stage_expect_none,
    .stager = &flow_stage_events,
    .publisher = &flow_publish_events,
    .janitor = &flow_recover_events,
    .packer = &flow_pack_events,
};

/* ---- begin and end ---- */

int flow_meet_server(struct agent *ag, const char *server_id, struct err *e)
{
    ag->user_events = &user_events;
    if (runtime_dir_settle(ag, server_id, e) < 0)
        return -1;
    runners_init(&ag->runners, &ag->loop, ag->home_fd, &ag->conf.confine, &runner_events, ag);
    flow_recover_begin(ag);
    return 0;
}

void flow_free(struct agent *ag)
{
    struct flow_event *ev;

    while ((ev = flow_take_event(ag)) != NULL)
        flow_event_free(ev);
    flow_recover_free(ag);
    flow_pack_free(ag);
    flow_peek_free(ag);
}

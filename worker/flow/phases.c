/* SPDX-License-Identifier: MIT */
/* phases.c - the table of phases and events, and the queue of events */

#include "worker/flow/phases.h"

#include <stdlib.h>

#define X2(name, text, ...) text,
const char *const event_names[EVENT_COUNT] = { FLOW_EVENTS(X2) };
const char *const process_event_names[PROCESS_EVENT_COUNT] = { PROCESS_EVENTS(X2) };
const char *const effect_names[EFFECT_COUNT] = { FLOW_EFFECTS(X2) };
#undef X2

/* The steps of an attempt for which a runner is, or may be, at work. */
#define RUN_STEPS(phase)                                                                     \
    [EVENT_NAMED] = { PHASE_STARTING, EFFECT_TAKE_OVER },                                    \
    [EVENT_ENDED] = { PHASE_PUBLISHING, EFFECT_PUBLISH },                                    \
    [EVENT_MISSED] = { PHASE_MISSING, EFFECT_NONE },                                         \
    [EVENT_UNNAMED] = { PHASE_UNNAMED, EFFECT_NONE }, [EVENT_STOP] = { phase, EFFECT_STOP }, \
    [EVENT_PREEMPT] = { PHASE_OUTCOME, EFFECT_TELL_LOST },                                   \
    [EVENT_STOP_EARLY] = { phase, EFFECT_STOP_EARLY }

/* The steps of an attempt that the janitor is asked about. */
#define ASKED_STEPS                                             \
    [EVENT_STOPPED] = { PHASE_OUTCOME, EFFECT_TELL_CANCELLED }, \
    [EVENT_LEFT_OUT] = { PHASE_OUTCOME, EFFECT_TELL_RECALLED }, \
    [EVENT_PUBLISHED] = { PHASE_OUTCOME, EFFECT_TELL_REPORT },  \
    [EVENT_LOSE] = { PHASE_OUTCOME, EFFECT_TELL_LOST }

const struct step attempt_steps[PHASE_COUNT][EVENT_COUNT] = {
    [PHASE_NEW] = {
        [EVENT_HANDED] = { PHASE_STAGING, EFFECT_ADMIT },
    },
    [PHASE_STAGING] = {
        [EVENT_READY] = { PHASE_QUEUED, EFFECT_QUEUE },
        [EVENT_FOUND] = { PHASE_OUTCOME, EFFECT_TELL_FOUND },
        [EVENT_STOP] = { PHASE_OUTCOME, EFFECT_TELL_CANCELLED },
        [EVENT_RECALL] = { PHASE_OUTCOME, EFFECT_TELL_RECALLED },
        [EVENT_LOSE] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
        [EVENT_PREEMPT] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
        [EVENT_STOP_EARLY] = { PHASE_OUTCOME, EFFECT_TELL_RECALLED },
    },
    [PHASE_QUEUED] = {
        [EVENT_UNREADY] = { PHASE_STAGING, EFFECT_UNQUEUE },
        [EVENT_GIVEN] = { PHASE_STARTING, EFFECT_GIVE },
        [EVENT_STOP] = { PHASE_OUTCOME, EFFECT_TELL_CANCELLED },
        [EVENT_RECALL] = { PHASE_OUTCOME, EFFECT_TELL_RECALLED },
        [EVENT_PREEMPT] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
        [EVENT_STOP_EARLY] = { PHASE_OUTCOME, EFFECT_TELL_RECALLED },
    },
    [PHASE_STARTING] = {
        [EVENT_STARTED] = { PHASE_RUNNING, EFFECT_START },
        [EVENT_LEFT] = { PHASE_LEFT, EFFECT_NONE },
        RUN_STEPS(PHASE_STARTING),
    },
    [PHASE_RUNNING] = {
        [EVENT_LEFT] = { PHASE_LEFT, EFFECT_NONE },
        RUN_STEPS(PHASE_RUNNING),
    },
    [PHASE_LEFT] = {
        [EVENT_SILENT] = { PHASE_MUTE, EFFECT_NONE },
        RUN_STEPS(PHASE_LEFT),
    },
    [PHASE_MUTE] = {
        [EVENT_IN_RUN] = { PHASE_LEFT, EFFECT_TAKE_SLOT },
        [EVENT_NOWHERE] = { PHASE_LEFT, EFFECT_NONE },
        RUN_STEPS(PHASE_MUTE),
        ASKED_STEPS,
    },
    [PHASE_MISSING] = {
        [EVENT_IN_RUN] = { PHASE_ORPHANED, EFFECT_ORPHAN },
        [EVENT_NEVER] = { PHASE_STAGING, EFFECT_ADMIT },
        RUN_STEPS(PHASE_MISSING),
        ASKED_STEPS,
    },
    [PHASE_UNNAMED] = {
        [EVENT_IN_RUN] = { PHASE_ORPHANED, EFFECT_ORPHAN },
        RUN_STEPS(PHASE_UNNAMED),
        ASKED_STEPS,
    },
    [PHASE_ORPHANED] = {
        [EVENT_KILLED] = { PHASE_FINISHING, EFFECT_FINISH },
        [EVENT_LEFT_OUT] = { PHASE_OUTCOME, EFFECT_TELL_RECALLED },
        [EVENT_LOSE] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
        [EVENT_PREEMPT] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
    },
    [PHASE_FINISHING] = {
        [EVENT_FINISHED] = { PHASE_OUTCOME, EFFECT_TELL_FINISHED },
        [EVENT_ENDED] = { PHASE_PUBLISHING, EFFECT_PUBLISH },
        [EVENT_PREEMPT] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
    },
    [PHASE_PUBLISHING] = {
        [EVENT_PUBLISHED] = { PHASE_OUTCOME, EFFECT_TELL_REPORT },
        [EVENT_LOSE] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
        [EVENT_PREEMPT] = { PHASE_OUTCOME, EFFECT_TELL_LOST },
    },
    [PHASE_OUTCOME] = {
        [EVENT_SETTLED] = { PHASE_DISCARDING, EFFECT_SETTLE },
        [EVENT_WITHDRAW] = { PHASE_WITHDRAWING, EFFECT_WITHDRAW },
    },
    [PHASE_WITHDRAWING] = {
        [EVENT_WITHDRAWN] = { PHASE_OUTCOME, EFFECT_TELL_WITHDRAWN },
    },
    [PHASE_DISCARDING] = {
        [EVENT_DISCARDED] = { PHASE_GONE, EFFECT_FORGET },
    },
};

const struct step process_steps[PROCESS_PHASE_COUNT][PROCESS_EVENT_COUNT] = {
    [PROCESS_NONE] = {
        [PROCESS_EV_GIVEN] = { PROCESS_GIVEN, EFFECT_NONE },
        [PROCESS_EV_NAMED] = { PROCESS_GIVEN, EFFECT_TAKE_SLOT },
        [PROCESS_EV_MISSED] = { PROCESS_SOUGHT, EFFECT_SEEK },
        [PROCESS_EV_ASK] = { PROCESS_NONE, EFFECT_ASK },
        [PROCESS_EV_ORPHANED] = { PROCESS_ORPHANED, EFFECT_KILL_SOON },
    },
    [PROCESS_GIVEN] = {
        [PROCESS_EV_NAMED] = { PROCESS_GIVEN, EFFECT_TAKE_SLOT },
        [PROCESS_EV_MISSED] = { PROCESS_SOUGHT, EFFECT_SEEK },
        [PROCESS_EV_ENDED] = { PROCESS_NONE, EFFECT_END },
        [PROCESS_EV_ASK] = { PROCESS_GIVEN, EFFECT_ASK },
        [PROCESS_EV_ORPHANED] = { PROCESS_ORPHANED, EFFECT_KILL_SOON },
    },
    [PROCESS_SOUGHT] = {
        [PROCESS_EV_NAMED] = { PROCESS_GIVEN, EFFECT_TAKE_SLOT },
        [PROCESS_EV_MISSED] = { PROCESS_SOUGHT, EFFECT_SEEK },
        [PROCESS_EV_ASK] = { PROCESS_SOUGHT, EFFECT_ASK },
        [PROCESS_EV_NOTHING] = { PROCESS_NONE, EFFECT_RELEASE },
        [PROCESS_EV_ORPHANED] = { PROCESS_ORPHANED, EFFECT_KILL_SOON },
    },
    [PROCESS_ORPHANED] = {
        [PROCESS_EV_ASK] = { PROCESS_ORPHANED, EFFECT_ASK },
        [PROCESS_EV_KILL] = { PROCESS_KILLING, EFFECT_KILL },
        [PROCESS_EV_DEAD] = { PROCESS_NONE, EFFECT_BURY },
    },
    [PROCESS_KILLING] = {
        [PROCESS_EV_ASK] = { PROCESS_KILLING, EFFECT_ASK },
        [PROCESS_EV_ALIVE] = { PROCESS_ORPHANED, EFFECT_NONE },
        [PROCESS_EV_DEAD] = { PROCESS_NONE, EFFECT_BURY },
    },
};

/* ---- the queue ---- */

static struct flow_event *post(struct agent *ag, const struct token *token, int event)
{
    struct flow_event *ev = mem_alloc(sizeof *ev);

    ev->token = *token;
    ev->event = event;
    ring_add_last(&ag->events, &ev->ring);
    return ev;
}

struct flow_event *flow_post(struct agent *ag, const struct attempt *a, enum event event,
                             const char *reason)
{
    struct flow_event *ev = post(ag, &a->token, (int)event);

    ev->reason = reason == NULL ? NULL : mem_strdup(reason);
    return ev;
}

void flow_post_process(struct agent *ag, const struct batch *b, enum process_event event)
{
    post(ag, &b->token, (int)event)->is_of_process = true;
}

struct flow_event *flow_take_event(struct agent *ag)
{
    struct flow_event *ev;

    if (ring_is_empty(&ag->events))
        return NULL;
    ev = RING_ITEM(ag->events.next, struct flow_event, ring);
    ring_remove(&ev->ring);
    return ev;
}

void flow_event_free(struct flow_event *ev)
{
    free(ev->reason);
    free(ev);
}

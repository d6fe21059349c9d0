/* SPDX-License-Identifier: MIT */
/* states.c - the transition table of attempts, and the names of all states */

#include "common/proto/states.h"

#define X1(name, text, ...) text,
const char *const attempt_state_names[ATTEMPT_STATE_COUNT] = { ATTEMPT_STATES(X1) };
const char *const attempt_event_names[ATTEMPT_EVENT_COUNT] = { ATTEMPT_EVENTS(X1) };
const char *const job_state_names[JOB_STATE_COUNT] = { JOB_STATES(X1) };
const char *const sweep_state_names[SWEEP_STATE_COUNT] = { SWEEP_STATES(X1) };
const char *const cause_names[CAUSE_COUNT] = { CAUSES(X1) };
const char *const verdict_names[VERDICT_COUNT] = { VERDICTS(X1) };
#undef X1

/* Cells hold state + 1, so that an empty cell means "refused". */
#define TO(state) ((state) + 1)

/*
 * Reports may skip states: a short job is often told by its outcome alone.  No live state refuses
 * an outcome, whatever ludwigd believed: a worker that was lost and came back may hold an
 * attempt that never started.
 */
static const unsigned char next[ATTEMPT_STATE_COUNT][ATTEMPT_EVENT_COUNT] = {
    [ATTEMPT_ASSIGNED] = { [EV_STAGE] = TO(ATTEMPT_STAGING),
                           [EV_RUN] = TO(ATTEMPT_RUNNING),
                           [EV_END] = TO(ATTEMPT_PUBLISHING),
                           [EV_DONE] = TO(ATTEMPT_DONE),
                           [EV_FAIL] = TO(ATTEMPT_FAILED),
                           [EV_CANCEL] = TO(ATTEMPT_CANCELLED),
                           [EV_SUPERSEDE] = TO(ATTEMPT_SUPERSEDED),
                           [EV_LOSE] = TO(ATTEMPT_LOST),
                           [EV_RECALL] = TO(ATTEMPT_RECALLED),
                           [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    [ATTEMPT_STAGING] = { [EV_RUN] = TO(ATTEMPT_RUNNING),
                          [EV_END] = TO(ATTEMPT_PUBLISHING),
                          [EV_DONE] = TO(ATTEMPT_DONE),
                          [EV_FAIL] = TO(ATTEMPT_FAILED),
                          [EV_CANCEL] = TO(ATTEMPT_CANCELLED),
                          [EV_SUPERSEDE] = TO(ATTEMPT_SUPERSEDED),
                          [EV_LOSE] = TO(ATTEMPT_LOST),
                          [EV_RECALL] = TO(ATTEMPT_RECALLED),
                          [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    [ATTEMPT_RUNNING] = { [EV_END] = TO(ATTEMPT_PUBLISHING),
                          [EV_DONE] = TO(ATTEMPT_DONE),
                          [EV_FAIL] = TO(ATTEMPT_FAILED),
                          [EV_CANCEL] = TO(ATTEMPT_CANCELLED),
                          [EV_SUPERSEDE] = TO(ATTEMPT_SUPERSEDED),
                          [EV_LOSE] = TO(ATTEMPT_LOST),
                          [EV_RECALL] = TO(ATTEMPT_RECALLED),
                          [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    [ATTEMPT_PUBLISHING] = { [EV_DONE] = TO(ATTEMPT_DONE),
                             [EV_FAIL] = TO(ATTEMPT_FAILED),
                             [EV_CANCEL] = TO(ATTEMPT_CANCELLED),
                             [EV_SUPERSEDE] = TO(ATTEMPT_SUPERSEDED),
                             [EV_LOSE] = TO(ATTEMPT_LOST),
                             [EV_RECALL] = TO(ATTEMPT_RECALLED),
                             [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    /* The share decides who published, whatever ludwigd thought of the attempt.  A cancelled one
     * may have published, and its job may have been queued again before it was withdrawn. */
    [ATTEMPT_CANCELLED] = { [EV_DONE] = TO(ATTEMPT_DONE), [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    [ATTEMPT_RECALLED] = { [EV_DONE] = TO(ATTEMPT_DONE) },
    [ATTEMPT_DONE] = { [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    [ATTEMPT_LOST] = { [EV_RETURN] = TO(ATTEMPT_RUNNING), [EV_DONE] = TO(ATTEMPT_DONE) },
};

/* The event that a state is the outcome of; such a report again is "known". */
static const unsigned char made_by[ATTEMPT_STATE_COUNT] = {
    [ATTEMPT_STAGING] = TO(EV_STAGE),        [ATTEMPT_RUNNING] = TO(EV_RUN),
    [ATTEMPT_PUBLISHING] = TO(EV_END),       [ATTEMPT_DONE] = TO(EV_DONE),
    [ATTEMPT_FAILED] = TO(EV_FAIL),          [ATTEMPT_CANCELLED] = TO(EV_CANCEL),
    [ATTEMPT_SUPERSEDED] = TO(EV_SUPERSEDE), [ATTEMPT_LOST] = TO(EV_LOSE),
    [ATTEMPT_RECALLED] = TO(EV_RECALL),      [ATTEMPT_WITHDRAWN] = TO(EV_WITHDRAW),
};

bool cause_is_preemption(enum cause cause)
{
    return cause == CAUSE_PREEMPTED || cause == CAUSE_WALLTIME;
}

enum attempt_state attempt_next(enum attempt_state state, enum attempt_event event)
{
    return (enum attempt_state)(next[state][event] - 1);
}

bool attempt_is_live(enum attempt_state state)
{
    static const bool live[ATTEMPT_STATE_COUNT] = {
#define X(name, text, is_live) is_live,
        ATTEMPT_STATES(X)
#undef X
    };

    return live[state];
}

bool attempt_was_made(enum attempt_state state, enum attempt_event event)
{
    return made_by[state] == TO(event);
}

bool job_is_ended(enum job_state state)
{
    return state == JOB_DONE || state == JOB_FAILED || state == JOB_CANCELLED;
}

static enum job_state job_state_of_live(enum attempt_state live)
{
    switch (live) {
    case ATTEMPT_STAGING: return JOB_STAGING;
    case ATTEMPT_RUNNING: return JOB_RUNNING;
    case ATTEMPT_PUBLISHING: return JOB_PUBLISHING;
    default: return JOB_QUEUED;
    }
}

enum job_state job_state_of(const struct job_evidence *evidence)
{
    if (evidence->cancelled)
        return JOB_CANCELLED;
    if (evidence->any_done)
        return JOB_DONE;
    if (evidence->any_live)
        return job_state_of_live(evidence->live);
    if (evidence->failed)
        return JOB_FAILED;
    return evidence->drained ? JOB_CANCELLED : JOB_QUEUED;
}

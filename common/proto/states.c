/* SPDX-License-Identifier: MIT */
/* states.c - the transition table of attempts, and functions over the tables of states.h */

#include "common/proto/states.h"

#define X(constant, number, text, ...) [constant] = text,
const char *const attempt_state_names[ATTEMPT_STATE_COUNT] = { ATTEMPT_STATES(X) };
const char *const sweep_state_names[SWEEP_STATE_COUNT] = { SWEEP_STATES(X) };
const char *const cause_names[CAUSE_COUNT] = { CAUSES(X) };
#undef X
#define X(constant, number, name, ...) [constant] = #name,
const char *const job_state_names[JOB_STATE_COUNT] = { JOB_STATES(X) };
#undef X
#define X(constant, text, ...) [constant] = text,
const char *const attempt_event_names[ATTEMPT_EVENT_COUNT] = { ATTEMPT_EVENTS(X) };
const char *const verdict_names[VERDICT_COUNT] = { VERDICTS(X) };
#undef X

static const struct {
    unsigned flags; /* enum attempt_flags */
    enum attempt_event made_by;
    enum job_state job;
} attempts[ATTEMPT_STATE_COUNT] = {
#define X(constant, number, text, flags, event, job) [constant] = { flags, event, job },
    ATTEMPT_STATES(X)
#undef X
};

static const struct {
    unsigned flags; /* enum job_flags */
    enum job_look look;
} jobs[JOB_STATE_COUNT] = {
#define X(constant, number, name, flags, look, when) [constant] = { flags, look },
    JOB_STATES(X)
#undef X
};

/* A cell of the table holds state + 1, so that an empty cell (0) means "refused". */
#define TO(state) ((state) + 1)

/*
 * Each live state accepts each outcome: a worker that was lost and came back may hold an attempt of
 * which ludwigd has not learned that it started.
 */
#define OUTCOMES                                                                  \
    [EV_DONE] = TO(ATTEMPT_DONE), [EV_FAIL] = TO(ATTEMPT_FAILED),                 \
    [EV_CANCEL] = TO(ATTEMPT_CANCELLED), [EV_SUPERSEDE] = TO(ATTEMPT_SUPERSEDED), \
    [EV_LOSE] = TO(ATTEMPT_LOST), [EV_RECALL] = TO(ATTEMPT_RECALLED),             \
    [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN), [EV_STOP] = TO(ATTEMPT_STOPPED)

/* Reports may skip states: of a short job a worker often reports only the outcome. */
static const unsigned char next[ATTEMPT_STATE_COUNT][ATTEMPT_EVENT_COUNT] = {
    [ATTEMPT_ASSIGNED] = { [EV_STAGE] = TO(ATTEMPT_STAGING),
                           [EV_RUN] = TO(ATTEMPT_RUNNING),
                           [EV_END] = TO(ATTEMPT_PUBLISHING),
                           OUTCOMES },
    [ATTEMPT_STAGING] = { [EV_RUN] = TO(ATTEMPT_RUNNING),
                          [EV_END] = TO(ATTEMPT_PUBLISHING),
                          OUTCOMES },
    [ATTEMPT_RUNNING] = { [EV_END] = TO(ATTEMPT_PUBLISHING), OUTCOMES },
    [ATTEMPT_PUBLISHING] = { OUTCOMES },
    /* The share decides whether an attempt has published, not the state that ludwigd has of it.  A
     * cancelled attempt may have published, and its job may have been queued again before the
     * result was withdrawn. */
    [ATTEMPT_CANCELLED] = { [EV_DONE] = TO(ATTEMPT_DONE), [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    [ATTEMPT_RECALLED] = { [EV_DONE] = TO(ATTEMPT_DONE) },
    [ATTEMPT_DONE] = { [EV_WITHDRAW] = TO(ATTEMPT_WITHDRAWN) },
    [ATTEMPT_LOST] = { [EV_RETURN] = TO(ATTEMPT_RUNNING),
                       [EV_DONE] = TO(ATTEMPT_DONE),
                       [EV_STOP] = TO(ATTEMPT_STOPPED) },
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
    return (attempts[state].flags & ATTEMPT_IS_LIVE) != 0;
}

bool attempt_has_published(enum attempt_state state)
{
    return (attempts[state].flags & ATTEMPT_HAS_PUBLISHED) != 0;
}

bool event_is_publication(enum attempt_event event)
{
    enum attempt_state to = attempt_next(ATTEMPT_PUBLISHING, event);

    return to != ATTEMPT_NO && attempt_has_published(to);
}

bool attempt_was_made(enum attempt_state state, enum attempt_event event)
{
    return attempts[state].made_by == event;
}

bool job_is_ended(enum job_state state)
{
    return (jobs[state].flags & JOB_IS_OVER) != 0;
}

bool job_has_published(enum job_state state)
{
    return (jobs[state].flags & JOB_HAS_PUBLISHED) != 0;
}

bool job_runs_again(enum job_state state)
{
    return (jobs[state].flags & JOB_RUNS_AGAIN) != 0;
}

bool job_is_reused(enum job_state state)
{
    return (jobs[state].flags & JOB_IS_REUSED) != 0;
}

bool job_ended_early(enum job_state state)
{
    return (jobs[state].flags & JOB_ENDED_EARLY) != 0;
}

bool job_goes_on(enum job_state state)
{
    return (jobs[state].flags & (JOB_IS_OVER | JOB_IS_KEPT_BACK)) == 0;
}

enum job_look job_look(enum job_state state)
{
    return jobs[state].look;
}

enum job_state job_state_of(const struct job_evidence *evidence)
{
    if (evidence->cancelled)
        return JOB_CANCELLED;
    if (evidence->any_done)
        return attempts[evidence->done].job;
    if (evidence->any_live)
        return attempts[evidence->live].job;
    if (evidence->failed)
        return JOB_FAILED;
    if (evidence->stopped)
        return JOB_STOPPED;
    if (evidence->drained)
        return JOB_CANCELLED;
    return evidence->held ? JOB_HELD : JOB_QUEUED;
}

enum sweep_state sweep_state_shown(enum sweep_state state, const struct job_counts *counts)
{
    int64_t n = 0;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        n += job_goes_on((enum job_state)i) ? counts->of[i] : 0;
    return state == SWEEP_RUNNING && n == 0 && counts->held > 0 ? SWEEP_HELD : state;
}

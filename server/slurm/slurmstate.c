/* SPDX-License-Identifier: MIT */
/* slurmstate.c - what Slurm says about a pilot, and what that means for the pilot and its jobs */

#include "server/slurm/slurmstate.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

struct row {
    const char *name;
    enum pilot_phase phase;
    enum pilot_jobs jobs;
    enum cause cause;
    enum pilot_next next;
    const char *words;
};

static const struct row rows[SLURM_STATE_COUNT] = {
#define X(state, name, phase, jobs, cause, next, words) \
    [state] = { name, phase, jobs, cause, next, words },
    SLURM_STATES(X) SLURM_ABSENCES(X)
#undef X
};

static const struct reason {
    const char *pattern;
    enum pilot_phase phase;
    const char *words;
} reasons[] = {
#define X(pattern, phase, words) { pattern, phase, words },
    SLURM_REASONS(X)
#undef X
};

const char *slurm_state_name(enum slurm_state state)
{
    return rows[state].name;
}

/* sacct appends " by UID" to CANCELLED, and '+' to a name that it cut short. */
enum slurm_state slurm_state_parse(const char *text)
{
    size_t n = text == NULL ? 0 : strcspn(text, " +");

    for (int s = 0; n > 0 && s < SLURM_UNKNOWN_JOB; s++)
        if (strlen(rows[s].name) == n && strncmp(text, rows[s].name, n) == 0)
            return (enum slurm_state)s;
    return SLURM_NEW_STATE;
}

/* Never goes back further than to the last '*', so that no text takes long.  squeue shows blanks
 * where scontrol has '_'. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = text;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text || (*pattern == ' ' && *text == '_')) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

static const struct reason *find_reason(const char *text)
{
    static const struct reason unknown = { "", PILOT_WAITS,
                                           "waits, and only Slurm knows what for" };

    for (size_t i = 0; text != NULL && i < sizeof reasons / sizeof *reasons; i++)
        if (matches(reasons[i].pattern, text))
            return &reasons[i];
    return &unknown;
}

/* Accounting lags: a job that runs by sacct may have ended, but one that ended by sacct has. */
static enum slurm_state state_of_ended(const struct slurm_seen *seen, enum slurm_state otherwise)
{
    enum slurm_state state;

    if (seen->sacct != SLURM_SAYS || seen->is_other_ended)
        return otherwise;
    state = slurm_state_parse(seen->ended);
    return rows[state].phase == PILOT_ENDED ? state : otherwise;
}

static enum slurm_state state_of(const struct slurm_seen *seen)
{
    if (seen->squeue == SLURM_SAYS && !seen->is_other)
        return slurm_state_parse(seen->state);
    if (seen->squeue == SLURM_SAID_NOTHING)
        return state_of_ended(seen, SLURM_NO_ANSWER);
    if (!seen->has_accounting)
        return seen->squeue == SLURM_SAYS ? SLURM_OTHER_JOB : SLURM_NO_ACCOUNTING;
    return state_of_ended(seen, seen->squeue == SLURM_SAYS ? SLURM_OTHER_JOB : SLURM_UNKNOWN_JOB);
}

/* Whether SIGKILL ended the pilot: on any other signal its first process ends by itself.  squeue
 * does not tell the signal, but has another reason for a failure by an exit code. */
static bool was_killed(const struct slurm_seen *seen)
{
    if (seen->worker != WORKER_AWAY)
        return false;
    if (seen->squeue == SLURM_SAYS && !seen->is_other)
        return seen->reason != NULL && (matches("JobLaunchFailure", seen->reason) ||
                                        matches("RaisedSignal*", seen->reason));
    return seen->signal == SIGKILL;
}

struct slurm_meaning slurm_judge(const struct slurm_seen *seen)
{
    enum slurm_state found = state_of(seen);
    enum slurm_state state = found == SLURM_FAILED && was_killed(seen) ? SLURM_KILLED : found;
    const struct row *row = &rows[state];
    struct slurm_meaning m = { .state = state,
                               .phase = row->phase,
                               .jobs = row->jobs,
                               .cause = row->cause,
                               .next = row->next,
                               .words = row->words };

    /* Slurm's reason says more about a pending job, and nothing about others. */
    if (state == SLURM_PENDING) {
        const struct reason *reason = find_reason(seen->reason);

        m.phase = reason->phase;
        m.words = reason->words;
        if (m.phase == PILOT_STUCK)
            m.next = NEXT_LATER;
    }
    if (seen->worker == WORKER_THERE) {
        /* A connected worker outranks Slurm, which may have it stopped or be ending it. */
        m.jobs = JOBS_STAY;
        m.cause = CAUSE_NONE;
        m.next = NEXT_NONE;
        if (m.phase != PILOT_STOPPED && m.phase != PILOT_ENDS) {
            m.phase = PILOT_RUNS;
            m.words = rows[SLURM_RUNNING].words;
        }
    } else if (seen->worker == WORKER_AWAY && state == SLURM_PENDING) {
        if (seen->reason != NULL && matches("job requeued in held state", seen->reason)) {
            m.jobs = JOBS_BACK;
            m.cause = CAUSE_PREEMPTED;
        } else {
            /* The pilot has run, so slurmctld was restarted with an older state, and knows nothing
             * of the run.  Pilots are not requeued, unless by an admin, who leaves them held. */
            m.jobs = JOBS_LEASE;
            m.phase = PILOT_UNCLEAR;
            m.next = NEXT_NONE;
            m.words = "has run, and Slurm shows an older state of it";
        }
    } else if (seen->worker == WORKER_AWAY && m.jobs == JOBS_STAY) {
        m.jobs = JOBS_LEASE;
    }
    return m;
}

/* SPDX-License-Identifier: MIT */
/*
 * states.h - the life of an attempt, and what it makes of its job
 *
 * One table says which event leads from which state to which; whatever it does
 * not list is refused.  docs/internals/states.md is held against it by a test.
 */
#ifndef LUDWIG_COMMON_PROTO_STATES_H
#define LUDWIG_COMMON_PROTO_STATES_H

#include <stdbool.h>

/* state, its name, is it live (its worker still holds it and it counts against capacity) */
#define ATTEMPT_STATES(X)                      \
    X(ATTEMPT_ASSIGNED, "assigned", true)      \
    X(ATTEMPT_STAGING, "staging", true)        \
    X(ATTEMPT_RUNNING, "running", true)        \
    X(ATTEMPT_PUBLISHING, "publishing", true)  \
    X(ATTEMPT_DONE, "done", false)             \
    X(ATTEMPT_FAILED, "failed", false)         \
    X(ATTEMPT_CANCELLED, "cancelled", false)   \
    X(ATTEMPT_SUPERSEDED, "superseded", false) \
    X(ATTEMPT_LOST, "lost", false)             \
    X(ATTEMPT_RECALLED, "recalled", false)     \
    X(ATTEMPT_WITHDRAWN, "withdrawn", false)

/* event, its name on the wire, what it says */
#define ATTEMPT_EVENTS(X)                                                   \
    X(EV_STAGE, "stage", "its data are being staged")                       \
    X(EV_RUN, "run", "its process was started")                             \
    X(EV_END, "end", "its process ended; results are being published")      \
    X(EV_DONE, "done", "its results lie under runs/")                       \
    X(EV_FAIL, "fail", "it failed; its files lie under failed/")            \
    X(EV_CANCEL, "cancel", "it was cancelled and nothing of it is left")    \
    X(EV_SUPERSEDE, "supersede", "another attempt had published before it") \
    X(EV_LOSE, "lose", "its runner or its worker is gone")                  \
    X(EV_RECALL, "recall", "it was given back before it started")           \
    X(EV_RETURN, "return", "a worker thought lost still holds it")          \
    X(EV_WITHDRAW, "withdraw", "its published result was taken out of runs/ again")

#define JOB_STATES(X)               \
    X(JOB_QUEUED, "queued")         \
    X(JOB_STAGING, "staging")       \
    X(JOB_RUNNING, "running")       \
    X(JOB_PUBLISHING, "publishing") \
    X(JOB_DONE, "done")             \
    X(JOB_FAILED, "failed")         \
    X(JOB_CANCELLED, "cancelled")

/* state of a sweep as people see it; OPEN ones are invisible */
#define SWEEP_STATES(X)         \
    X(SWEEP_OPEN, "open")       \
    X(SWEEP_RUNNING, "running") \
    X(SWEEP_PAUSED, "paused")   \
    X(SWEEP_DONE, "done")       \
    X(SWEEP_FAILED, "failed")   \
    X(SWEEP_CANCELLED, "cancelled")

/* why an attempt came to nothing: the name that retry: takes, what it says */
#define CAUSES(X)                                                                     \
    X(CAUSE_NONE, "none", "nothing went wrong")                                       \
    X(CAUSE_FAILED, "failed", "its process exited with another code than 0")          \
    X(CAUSE_SIGNAL, "signal", "a signal ended its process")                           \
    X(CAUSE_TIMEOUT, "timeout", "it ran for longer than resources: time: allows")     \
    X(CAUSE_OOM, "oom", "it ran out of memory")                                       \
    X(CAUSE_NODE_LOST, "node-lost", "its worker, or the machine, was gone too long")  \
    X(CAUSE_PREEMPTED, "preempted", "its place was taken away, by Slurm or an admin") \
    X(CAUSE_WALLTIME, "walltime", "it was preempted, as the time of its pilot was over")

/* what ludwigd answers to a report */
#define VERDICTS(X)                                                              \
    X(VERDICT_TAKEN, "taken", "recorded; the worker may forget the report")      \
    X(VERDICT_KNOWN, "known", "was recorded before")                             \
    X(VERDICT_SUPERSEDED, "superseded", "another attempt counts; drop this one") \
    X(VERDICT_WITHDRAW, "withdraw", "the job was cancelled: take the result out of runs/")

#define X1(name, ...) name,
enum attempt_state { ATTEMPT_STATES(X1) ATTEMPT_STATE_COUNT, ATTEMPT_NO = -1 };
enum attempt_event { ATTEMPT_EVENTS(X1) ATTEMPT_EVENT_COUNT };
enum job_state { JOB_STATES(X1) JOB_STATE_COUNT };
enum sweep_state { SWEEP_STATES(X1) SWEEP_STATE_COUNT };
enum cause { CAUSES(X1) CAUSE_COUNT };
enum verdict { VERDICTS(X1) VERDICT_COUNT };
#undef X1

extern const char *const attempt_state_names[ATTEMPT_STATE_COUNT];
extern const char *const attempt_event_names[ATTEMPT_EVENT_COUNT];
extern const char *const job_state_names[JOB_STATE_COUNT];
extern const char *const sweep_state_names[SWEEP_STATE_COUNT];
extern const char *const cause_names[CAUSE_COUNT];
extern const char *const verdict_names[VERDICT_COUNT];

/* Its place was taken away, for whatever reason: retry: preempted means these. */
bool cause_is_preemption(enum cause cause);
/* ATTEMPT_NO when the table does not list it. */
enum attempt_state attempt_next(enum attempt_state state, enum attempt_event event);
bool attempt_is_live(enum attempt_state state);
/* The event that the state came from is the same as this one: it was made already. */
bool attempt_was_made(enum attempt_state state, enum attempt_event event);
bool job_is_ended(enum job_state state);

/* What a job's attempts say about it. */
struct job_evidence {
    bool cancelled; /* its owner said so, and nobody retried since */
    bool drained;   /* the same, but what ran already may end; it is not tried again */
    bool any_done;  /* an attempt published */
    bool any_live;  /* live is then the furthest state among them */
    enum attempt_state live;
    bool failed; /* the last ended attempt failed and no retry is due */
};
enum job_state job_state_of(const struct job_evidence *evidence);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * states.h - the states of attempts, and the states of jobs that follow from them
 *
 * Each state has one row here.  SQL (server/db/db.h), counters, listings, messages and manuals are
 * made from the rows; CONTRIBUTING.md ("Add a job state") lists what else a new state needs.  A
 * table in states.c tells which event leads from which state to which; other events are refused.
 * A test compares docs/internals/states.md with the rows and the table.
 *
 * The numbers are stored in databases: a number keeps its meaning for good, and a new row takes the
 * next number.  tests/unit/common/proto/numbers.c pins them.
 */
#ifndef LUDWIG_COMMON_PROTO_STATES_H
#define LUDWIG_COMMON_PROTO_STATES_H

#include <stdbool.h>
#include <stdint.h>

enum attempt_flags {
    ATTEMPT_IS_LIVE = 1,      /* a worker still holds the attempt, and it counts against capacity */
    ATTEMPT_HAS_PUBLISHED = 2 /* its results lie under runs/, and its job's state follows from it */
};

/*
 * constant, number, name, flags, the event that leads to the state, the state of a job whose
 * published or, if none has published, furthest live attempt is in this state.  The live states
 * have the lowest numbers, as an index of the database is made for "state <= ATTEMPT_LAST_LIVE".
 */
#define ATTEMPT_STATES(X)                                                           \
    X(ATTEMPT_ASSIGNED, 0, "assigned", ATTEMPT_IS_LIVE, EV_NONE, JOB_QUEUED)        \
    X(ATTEMPT_STAGING, 1, "staging", ATTEMPT_IS_LIVE, EV_STAGE, JOB_STAGING)        \
    X(ATTEMPT_RUNNING, 2, "running", ATTEMPT_IS_LIVE, EV_RUN, JOB_RUNNING)          \
    X(ATTEMPT_PUBLISHING, 3, "publishing", ATTEMPT_IS_LIVE, EV_END, JOB_PUBLISHING) \
    X(ATTEMPT_DONE, 4, "done", ATTEMPT_HAS_PUBLISHED, EV_DONE, JOB_DONE)            \
    X(ATTEMPT_FAILED, 5, "failed", 0, EV_FAIL, JOB_QUEUED)                          \
    X(ATTEMPT_CANCELLED, 6, "cancelled", 0, EV_CANCEL, JOB_QUEUED)                  \
    X(ATTEMPT_SUPERSEDED, 7, "superseded", 0, EV_SUPERSEDE, JOB_QUEUED)             \
    X(ATTEMPT_LOST, 8, "lost", 0, EV_LOSE, JOB_QUEUED)                              \
    X(ATTEMPT_RECALLED, 9, "recalled", 0, EV_RECALL, JOB_QUEUED)                    \
    X(ATTEMPT_WITHDRAWN, 10, "withdrawn", 0, EV_WITHDRAW, JOB_QUEUED)               \
    X(ATTEMPT_STOPPED, 11, "stopped", 0, EV_STOP, JOB_QUEUED)

#define ATTEMPT_LAST_LIVE ATTEMPT_PUBLISHING

/* event, its name on the wire, its meaning */
#define ATTEMPT_EVENTS(X)                                                           \
    X(EV_STAGE, "stage", "its data are being staged")                               \
    X(EV_RUN, "run", "its process was started")                                     \
    X(EV_END, "end", "its process ended; results are being published")              \
    X(EV_DONE, "done", "its results lie under runs/")                               \
    X(EV_FAIL, "fail", "it failed; its files lie under failed/")                    \
    X(EV_CANCEL, "cancel", "it was cancelled and nothing of it is left")            \
    X(EV_SUPERSEDE, "supersede", "another attempt had published before it")         \
    X(EV_LOSE, "lose", "its runner or its worker is gone")                          \
    X(EV_RECALL, "recall", "it was given back before it started")                   \
    X(EV_RETURN, "return", "a worker thought lost still holds it")                  \
    X(EV_WITHDRAW, "withdraw", "its published result was taken out of runs/ again") \
    X(EV_STOP, "stop", "it was stopped early; its files lie under stopped/")

enum job_flags {
    JOB_IS_OVER = 1,
    JOB_HAS_PUBLISHED = 2, /* its files lie under runs/ */
    JOB_RUNS_AGAIN = 4,    /* ludwig retry can queue it again */
    JOB_IS_KEPT_BACK = 8,  /* it does not go on by itself; its sweep does not wait for it */
    JOB_IS_REUSED = 16,    /* a later sweep takes its result, and does not run it again */
    JOB_ENDED_EARLY = 32   /* ludwig retry must name the state, and results count it apart */
};

/* The look of a state in listings. */
enum job_look { JOB_LOOKS_PLAIN, JOB_LOOKS_DIM, JOB_LOOKS_GOOD, JOB_LOOKS_BAD };

/*
 * constant, number, name (in JSON and messages; with "n_" in front the column of table sweep that
 * counts such jobs), flags, look, when a job is in the state
 */
#define JOB_STATES(X)                                                                          \
    X(JOB_QUEUED, 0, queued, 0, JOB_LOOKS_DIM,                                                 \
      "no attempt is live, or one is assigned and has not begun; it waits, or is paused")      \
    X(JOB_STAGING, 1, staging, 0, JOB_LOOKS_PLAIN, "the furthest live attempt is staging")     \
    X(JOB_RUNNING, 2, running, 0, JOB_LOOKS_PLAIN, "the furthest live attempt is running")     \
    X(JOB_PUBLISHING, 3, publishing, 0, JOB_LOOKS_PLAIN,                                       \
      "the furthest live attempt is publishing")                                               \
    X(JOB_DONE, 4, done, JOB_IS_OVER | JOB_HAS_PUBLISHED | JOB_IS_REUSED, JOB_LOOKS_GOOD,      \
      "an attempt has published")                                                              \
    X(JOB_FAILED, 5, failed, JOB_IS_OVER | JOB_RUNS_AGAIN, JOB_LOOKS_BAD,                      \
      "none has, none is live, and one failed or was lost as is not tried again (see causes)") \
    X(JOB_CANCELLED, 6, cancelled, JOB_IS_OVER | JOB_RUNS_AGAIN, JOB_LOOKS_DIM,                \
      "its owner said so, and has not retried it since")                                       \
    X(JOB_HELD, 7, held, JOB_IS_KEPT_BACK, JOB_LOOKS_BAD,                                      \
      "it would be queued, but all that was like it failed, and nobody has resumed it")        \
    X(JOB_STOPPED, 8, stopped, JOB_IS_OVER | JOB_RUNS_AGAIN | JOB_IS_REUSED | JOB_ENDED_EARLY, \
      JOB_LOOKS_DIM,                                                                           \
      "the rule of its sweep's `stop:`, or the race of its `reps:`, decided that it does not go on")

/* Column job.cancelled: the job is cancelled at once, or when its running attempts have ended; 0:
 * it is not cancelled. */
enum job_cancelling { CANCEL_NOW = 1, CANCEL_DRAIN = 2 };

/* Column job.stop, for stopping a job early; 0: nothing was decided.  A user who retries a stopped
 * job overrules the decision, and the job is exempt once the rule has been told that.  STOP_RACED:
 * other configurations are better than the job's, and it is not begun unless that changes. */
enum job_stopping { STOP_DECIDED = 1, STOP_OVERRULED = 2, STOP_EXEMPT = 3, STOP_RACED = 4 };

/* Column sweep.resumes, whether stopped jobs of the sweep may go on from their checkpoints: none
 * may; some may, so that the sweep is not over; it is settled that none will. */
enum sweep_resuming { RESUMES_NONE = 0, RESUMES_SOME = 1, RESUMES_SETTLED = 2 };

/* The states of a sweep as users see them; an open sweep is not shown.  The database has no held
 * sweeps: a running sweep is shown as held while it has held jobs and none of its jobs goes on. */
#define SWEEP_STATES(X)                \
    X(SWEEP_OPEN, 0, "open")           \
    X(SWEEP_RUNNING, 1, "running")     \
    X(SWEEP_PAUSED, 2, "paused")       \
    X(SWEEP_DONE, 3, "done")           \
    X(SWEEP_FAILED, 4, "failed")       \
    X(SWEEP_CANCELLED, 5, "cancelled") \
    X(SWEEP_HELD, 6, "held")

/* reasons why an attempt has no result: number, its name in retry:, its meaning */
#define CAUSES(X)                                                                           \
    X(CAUSE_NONE, 0, "none", "nothing went wrong")                                          \
    X(CAUSE_FAILED, 1, "failed", "its process exited with another code than 0")             \
    X(CAUSE_SIGNAL, 2, "signal", "a signal ended its process")                              \
    X(CAUSE_TIMEOUT, 3, "timeout", "it ran for longer than resources: time: allows")        \
    X(CAUSE_OOM, 4, "oom", "it ran out of memory")                                          \
    X(CAUSE_NODE_LOST, 5, "node-lost", "its worker, or the machine, was gone too long")     \
    X(CAUSE_PREEMPTED, 6, "preempted", "its place was taken away, by Slurm or an admin")    \
    X(CAUSE_WALLTIME, 7, "walltime", "it was preempted, as the time of its pilot was over") \
    X(CAUSE_ENVIRONMENT, 8, "environment", "its node lacks its environment or a module")    \
    X(CAUSE_NAN, 9, "nan", "its metric was nan or infinite, and guard: stops that")         \
    X(CAUSE_GPU, 10, "gpu", "a GPU that it had does not work, as its driver says")

/* ludwigd's answers to a report: constant, name, meaning */
#define VERDICTS(X)                                                              \
    X(VERDICT_TAKEN, "taken", "recorded; the worker may forget the report")      \
    X(VERDICT_KNOWN, "known", "was recorded before")                             \
    X(VERDICT_SUPERSEDED, "superseded", "another attempt counts; drop this one") \
    X(VERDICT_WITHDRAW, "withdraw", "the job was cancelled: take the result out of runs/")

#define X(name, number, ...) name = (number),
enum attempt_state { ATTEMPT_STATES(X) ATTEMPT_STATE_COUNT, ATTEMPT_NO = -1 };
enum job_state { JOB_STATES(X) JOB_STATE_COUNT };
enum sweep_state { SWEEP_STATES(X) SWEEP_STATE_COUNT };
enum cause { CAUSES(X) CAUSE_COUNT };
#undef X
#define X(name, ...) name,
enum attempt_event { ATTEMPT_EVENTS(X) ATTEMPT_EVENT_COUNT, EV_NONE = -1 };
enum verdict { VERDICTS(X) VERDICT_COUNT };
#undef X

extern const char *const attempt_state_names[ATTEMPT_STATE_COUNT];
extern const char *const attempt_event_names[ATTEMPT_EVENT_COUNT];
extern const char *const job_state_names[JOB_STATE_COUNT];
extern const char *const sweep_state_names[SWEEP_STATE_COUNT];
extern const char *const cause_names[CAUSE_COUNT];
extern const char *const verdict_names[VERDICT_COUNT];

/* Numbers of jobs by state, as members with the states' names and as of[state]. */
struct job_counts {
    union {
        struct {
#define X(constant, number, name, ...) int64_t name;
            JOB_STATES(X)
#undef X
        };
        int64_t of[JOB_STATE_COUNT];
    };
};

/* Whether the attempt's place was taken away; "preempted" in retry: means all such causes. */
bool cause_is_preemption(enum cause cause);
/* The state after the event; ATTEMPT_NO when the event is refused in this state. */
enum attempt_state attempt_next(enum attempt_state state, enum attempt_event event);
bool attempt_is_live(enum attempt_state state);
/* Whether this event leads to the state, so that a report of it repeats an earlier one. */
bool attempt_was_made(enum attempt_state state, enum attempt_event event);
/* Whether the event says that the attempt's results lie under runs/. */
bool event_is_publication(enum attempt_event event);
bool attempt_has_published(enum attempt_state state);

bool job_is_ended(enum job_state state);
bool job_has_published(enum job_state state);
bool job_runs_again(enum job_state state); /* whether ludwig retry can queue it again */
bool job_is_reused(enum job_state state);
bool job_ended_early(enum job_state state);
/* Whether the job is neither over nor kept back. */
bool job_goes_on(enum job_state state);
enum job_look job_look(enum job_state state);

/* Facts about a job from which its state follows. */
struct job_evidence {
    bool cancelled; /* its owner cancelled it, and has not retried it since */
    bool drained;   /* it was cancelled, but a running attempt may end; it is not tried again */
    bool any_done;  /* an attempt has published; done: this attempt's state */
    bool any_live;  /* an attempt is live; live: the furthest state of the live attempts */
    enum attempt_state done, live;
    bool failed;  /* the last ended attempt failed, and the job is not tried again */
    bool held;    /* the guard holds it */
    bool stopped; /* it was decided to stop the job early, or its last attempt was stopped */
};
enum job_state job_state_of(const struct job_evidence *evidence);
/* The state of a sweep as users see it: SWEEP_HELD for a running sweep with held jobs of which no
 * job goes on, else `state`. */
enum sweep_state sweep_state_shown(enum sweep_state state, const struct job_counts *counts);

#endif

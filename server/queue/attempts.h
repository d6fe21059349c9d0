/* SPDX-License-Identifier: MIT */
/*
 * attempts.h - events of attempts, and the states of jobs and sweeps that follow
 *
 * Every change of a job's state goes through job_refresh, which derives it from
 * the job's attempts and keeps the sweep's counters.  All of this runs inside a
 * turn (server/base/turn.h).
 */
#ifndef LUDWIG_SERVER_QUEUE_ATTEMPTS_H
#define LUDWIG_SERVER_QUEUE_ATTEMPTS_H

#include "common/proto/proto.h"
#include "server/base/server.h"

struct conn;

/* Changes of one sweep's counters, gathered over many jobs and written once. */
struct tally {
    int64_t sweep; /* 0: empty */
    int64_t by_state[JOB_STATE_COUNT];
    int64_t ready;
    int64_t ran_jobs;
    int64_t ran_ms;
    int64_t spent_attempts; /* of attempts that ran and have ended, whatever came of them */
    int64_t spent_ms;
    int64_t spent_cpu_ms;
};

/*
 * Recomputes a job's state from its attempts; keeps its place in the queue, its
 * number of change and the sweep's counters, and tells subscribers.  With a tally the
 * counters are gathered there (another sweep's are written first): end with tally_flush.
 */
int job_refresh(struct server *sv, int64_t id, struct tally *tally, struct err *e);
int tally_flush(struct server *sv, struct tally *tally, struct err *e);
/* The tally is for this sweep then; another one's is written first. */
int tally_turn_to(struct server *sv, struct tally *tally, int64_t sweep, struct err *e);

/* Users' changes of a job: 1 when the job changed, 0 when not, -1. */

/* how: enum job_cancelling.  Live attempts are stopped; with CANCEL_DRAIN a running job is left
 * alone, and is not tried again. */
int job_cancel(struct server *sv, int64_t id, unsigned how, struct tally *tally, struct err *e);
/* Queues it again if it failed or was cancelled, and that state is in states (1 << JOB_FAILED). */
int job_retry(struct server *sv, int64_t id, unsigned states, struct tally *tally, struct err *e);
/* Paused (is_paused 1), a job is not handed out; an attempt that has not started is recalled.  One
 * that is resumed is not held by the guard any more, either. */
int job_pause(struct server *sv, int64_t id, unsigned is_paused, struct tally *tally,
              struct err *e);

/*
 * Pause and resume a whole sweep that is not over.  Return how many of its queued jobs were paused
 * or resumed, -1.  The tally must have been flushed.
 */
int64_t sweep_pause(struct server *sv, int64_t sweep, struct err *e);
int64_t sweep_resume(struct server *sv, int64_t sweep, struct err *e); /* paused jobs stay so */

/* A worker's report on an attempt.  Only its own worker may report on it. */
int attempt_report(struct server *sv, int64_t worker, const struct report *report,
                   enum verdict *verdict, struct tally *tally, struct err *e);

/* ludwigd's own finding about an attempt (a lease ran out): the event must be allowed.  cause: why
 * the attempt is lost; CAUSE_NONE: node-lost. */
int attempt_find(struct server *sv, int64_t attempt, enum attempt_event event, enum cause cause,
                 const char *reason, struct tally *tally, struct err *e);

/* Ends all live attempts of a worker that is gone: those not started are queued as if never given
 * out, the others are lost for `cause`. */
int attempts_lose_all(struct server *sv, int64_t worker, enum cause cause, const char *reason,
                      struct err *e);

/* Orders the connected workers to end all live attempts of the job but `except` (0: all), and to
 * leave nothing of them. */
int attempts_stop_rivals(struct server *sv, int64_t job, int64_t except, struct err *e);
/* Work for a turn: stops the attempts of a worker whose jobs were cancelled, or are over. */
int attempts_stop_unwanted(struct server *sv, int64_t worker, struct err *e);

/*
 * recall_*: attempts that were given out and have not started are taken back.  The worker answers
 * with a report for each attempt that it gives back; an attempt that has started meanwhile goes on.
 * The attempts of one process (a batch) are taken back together.
 */

int recall_of_sweep(struct server *sv, int64_t sweep, struct err *e);
int recall_of_job(struct server *sv, int64_t job, struct err *e);
int recall_of_worker(struct server *sv, int64_t worker, struct err *e);
/* Recalls the last so many processes of the sweep that the worker was given. */
int recall_some(struct server *sv, int64_t worker, int64_t sweep, int64_t processes, struct err *e);

/* Work for a turn, when a worker is back: recalls what was paused or drained meanwhile. */
int recall_unwanted(struct server *sv, int64_t worker, struct err *e);
/* The same on a connection that is not yet known as the worker's: before the worker hears that it
 * is registered, and starts the attempts that it holds. */
int recall_at_registration(struct server *sv, const struct conn *c, int64_t worker, struct err *e);

#endif

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

/* What people do to a job: 1 when that changed it, 0, -1. */

/* how: enum job_cancelling.  Live attempts are ordered stopped; with CANCEL_DRAIN a job that runs
 * is left alone, and is not tried again. */
int job_cancel(struct server *sv, int64_t id, unsigned how, struct tally *tally, struct err *e);
/* Queues it again if it failed or was cancelled, and that state is in states (1 << JOB_FAILED). */
int job_retry(struct server *sv, int64_t id, unsigned states, struct tally *tally, struct err *e);
/* Paused (1), it is not handed out; what was, but has not started, is recalled. */
int job_hold(struct server *sv, int64_t id, unsigned is_held, struct tally *tally, struct err *e);

/*
 * The same to a whole sweep that is not over.  Returns how many of its queued jobs that changed,
 * -1. The tally must have been flushed.
 */
int64_t sweep_pause(struct server *sv, int64_t sweep, struct err *e);
int64_t sweep_resume(struct server *sv, int64_t sweep, struct err *e); /* not its held jobs */

/* A worker's report on an attempt.  Only its own worker may report on it. */
int attempt_report(struct server *sv, int64_t worker, const struct report *report,
                   enum verdict *verdict, struct tally *tally, struct err *e);

/* ludwigd's own finding about an attempt (a lease ran out): the event must be allowed.  cause: of
 * what is lost so; CAUSE_NONE: node-lost. */
int attempt_find(struct server *sv, int64_t attempt, enum attempt_event event, enum cause cause,
                 const char *reason, struct tally *tally, struct err *e);

/* All that a worker which is no more had, and did not report: what it had not begun goes back to
 * the queue as if it had never been given out, the rest is lost for that cause. */
int attempts_lose_all(struct server *sv, int64_t worker, enum cause cause, const char *reason,
                      struct err *e);

/* Orders the workers that hold them, where they are connected, to end attempts and leave nothing:
 * every live one of the job but this one (0: all). */
int attempts_stop_rivals(struct server *sv, int64_t job, int64_t except, struct err *e);
/* Work for a turn: those of a worker whose jobs were cancelled, or are over. */
int attempts_stop_unwanted(struct server *sv, int64_t worker, struct err *e);

/*
 * What was given out and has not started is taken back.  A worker answers with a report for each
 * attempt that it gives back; one that has started meanwhile goes on.  What belongs to one process
 * (a batch) is taken back together.
 */

int recall_of_sweep(struct server *sv, int64_t sweep, struct err *e);
int recall_of_job(struct server *sv, int64_t job, struct err *e);
int recall_of_worker(struct server *sv, int64_t worker, struct err *e);
/* The last so many processes of the sweep that the worker was given. */
int recall_some(struct server *sv, int64_t worker, int64_t sweep, int64_t processes, struct err *e);

/* Work for a turn, when a worker is back: what was paused or drained while it was away. */
int recall_unwanted(struct server *sv, int64_t worker, struct err *e);
/* The same on a connection that does not stand for the worker yet: before the worker is told that
 * it is registered, and starts what it holds. */
int recall_at_registration(struct server *sv, const struct conn *c, int64_t worker, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * attempts.h - events of attempts, and the states of jobs and sweeps that follow
 *
 * Every change of a job's state goes through job_refresh, which derives the state from the job's
 * attempts and updates the sweep's counters.  All functions here run inside a turn
 * (server/base/turn.h) and, unless said otherwise, return 0, or -1 with e set.
 */
#ifndef LUDWIG_SERVER_QUEUE_ATTEMPTS_H
#define LUDWIG_SERVER_QUEUE_ATTEMPTS_H

#include "common/proto/proto.h"
#include "server/base/server.h"
#include "server/queue/retry.h"

struct conn;

/* Changes of one sweep's counters, gathered over many jobs and written once. */
struct tally {
    int64_t sweep; /* whose counters; 0: the tally is empty */
    int64_t by_state[JOB_STATE_COUNT];
    int64_t ready;
    int64_t ran_jobs;
    int64_t ran_ms;
    int64_t spent_attempts; /* spent_*: of attempts that ran and have ended, in any state */
    int64_t spent_ms;
    int64_t spent_cpu_ms;
    int64_t spent_limit_ms;           /* sum of these attempts' time limits */
    double asked_gib_ms, used_gib_ms; /* sum of run time * memory that was asked for, was held */
    int64_t peak_rss_bytes;           /* largest memory that one of these attempts held */
    int64_t longest_ms;
};

/* Recomputes a job's state from its attempts; updates its place in the queue and its version, and
 * tells subscribers.  Gathers the sweep's counters in the tally; call tally_flush at the end. */
int job_refresh(struct server *sv, int64_t id, struct tally *tally, struct err *e);
int tally_flush(struct server *sv, struct tally *tally, struct err *e);
/* Makes the tally gather for this sweep; what it holds for another sweep is written first. */
int tally_turn_to(struct server *sv, struct tally *tally, int64_t sweep, struct err *e);

/* Users' changes of a job: 1 when the job changed, 0 when not, -1. */

/* Cancels a job and stops its live attempts.  how: enum job_cancelling; with CANCEL_DRAIN a running
 * or publishing job goes on to its end, and is not tried again. */
int job_cancel(struct server *sv, int64_t id, unsigned how, struct tally *tally, struct err *e);
/* Queues a failed, cancelled or stopped job again if states has the bit 1 << its state. */
int job_retry(struct server *sv, int64_t id, unsigned states, struct tally *tally, struct err *e);
/* is_paused 1: the job is not handed out, and an attempt of it that has not started is recalled.
 * is_paused 0: the job is resumed, also where the guard holds it. */
int job_pause(struct server *sv, int64_t id, unsigned is_paused, struct tally *tally,
              struct err *e);

/* Sets the rank (an int, see queue_place in rows.h) of a job that has not ended. */
int job_order(struct server *sv, int64_t id, unsigned rank, struct tally *tally, struct err *e);

/* Pause and resume a whole sweep that is not over.  Return how many of its queued jobs this paused
 * or resumed, -1 with e set.  The caller has flushed its tally before. */
int64_t sweep_pause(struct server *sv, int64_t sweep, struct err *e);
int64_t sweep_resume(struct server *sv, int64_t sweep, struct err *e); /* but no job_pause */

/* Takes a worker's report on one of its own attempts, and sets the verdict that the worker gets. */
int attempt_report(struct server *sv, int64_t worker, const struct report *report,
                   enum verdict *verdict, struct tally *tally, struct err *e);

/* Moves an attempt by ludwigd's own finding, as when a lease ran out; an event that the attempt's
 * state does not allow is an error.  cause: why it is lost, CAUSE_NONE: node-lost. */
int attempt_find(struct server *sv, int64_t attempt, enum attempt_event event, enum cause cause,
                 const char *reason, struct tally *tally, struct err *e);

/* Ends all live attempts of a worker that is gone: attempts that are only assigned count as
 * recalled, the others as lost for `cause`. */
int attempts_lose_all(struct server *sv, int64_t worker, enum cause cause, const char *reason,
                      struct err *e);

/* Orders the connected workers to end all live attempts of the job except attempt `except` (0: no
 * exception) and to remove their files. */
int attempts_stop_rivals(struct server *sv, int64_t job, int64_t except, struct err *e);
/* Turn work: orders a worker to stop its live attempts of ended or cancelled jobs. */
int attempts_stop_unwanted(struct server *sv, int64_t worker, struct err *e);

/*
 * recall_* ask workers to give back attempts that have not started.  The worker reports each
 * attempt that it gives back; an attempt that has started meanwhile goes on.  The attempts of one
 * process (a batch) are recalled together.  A worker that is away is asked when it is back.
 */

int recall_of_sweep(struct server *sv, int64_t sweep, struct err *e);
int recall_of_job(struct server *sv, int64_t job, struct err *e);
int recall_of_worker(struct server *sv, int64_t worker, struct err *e);
int recall_of_user(struct server *sv, int64_t worker, int64_t uid, struct err *e);
/* Recalls from the worker its newest unstarted processes of the sweep, of jobs that ask for
 * `grown`; processes: how many at most. */
int recall_some(struct server *sv, int64_t worker, int64_t sweep, struct grown grown,
                int64_t processes, struct err *e);

/* Turn work for a worker that is back: recalls unstarted attempts that were paused, held, drained
 * or raced out meanwhile. */
int recall_unwanted(struct server *sv, int64_t worker, struct err *e);
/* The same on the connection of a worker that is registering, which conn_of_worker does not find
 * yet: the recall reaches the worker before it starts the attempts that it holds. */
int recall_at_registration(struct server *sv, const struct conn *c, int64_t worker, struct err *e);

#endif

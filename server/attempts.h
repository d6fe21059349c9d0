/* SPDX-License-Identifier: MIT */
/*
 * attempts.h - what happens to attempts, and what that makes of jobs and sweeps
 *
 * Every change of a job's state goes through job_refresh, which derives it from
 * the job's attempts and keeps the sweep's counters.  All of this runs inside a
 * turn (server/turn.h).
 */
#ifndef LUDWIG_SERVER_ATTEMPTS_H
#define LUDWIG_SERVER_ATTEMPTS_H

#include "server/server.h"

/* A job whose attempts were lost this often is taken for the cause, and fails. */
enum { JOB_LOSSES_MAX = 5 };

/* Changes of one sweep's counters, gathered over many jobs and written once. */
struct tally {
    int64_t sweep; /* 0: empty */
    int64_t by_state[JOB_STATE_COUNT];
    int64_t ready;
    int64_t ran_jobs;
    int64_t ran_ms;
};

/*
 * Recomputes a job's state from its attempts; keeps its place in the queue, its
 * number of change and the sweep's counters, and tells subscribers.  With a tally the
 * counters are gathered there (another sweep's are written first): end with tally_flush.
 */
int job_refresh(struct server *sv, int64_t id, struct tally *tally, struct err *e);
int tally_flush(struct server *sv, struct tally *tally, struct err *e);

/* Marks the job cancelled and orders its live attempts stopped: 1, 0 when it was over, -1. */
int job_cancel(struct server *sv, int64_t id, struct tally *tally, struct err *e);
/* Queues a job again that failed or was cancelled: 1, 0 when it is neither, -1. */
int job_retry(struct server *sv, int64_t id, struct tally *tally, struct err *e);

/* A worker's report on an attempt.  Only its own worker may report on it. */
int attempt_report(struct server *sv, int64_t worker, const struct report *report,
                   enum verdict *verdict, struct tally *tally, struct err *e);

/* ludwigd's own finding about an attempt (a lease ran out): the event must be allowed. */
int attempt_find(struct server *sv, int64_t attempt, enum attempt_event event, const char *reason,
                 struct tally *tally, struct err *e);

/* Orders the worker that holds it, if connected, to end it and leave nothing. */
void attempt_stop(struct server *sv, int64_t worker, const struct token *token);

#endif

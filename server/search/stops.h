/* SPDX-License-Identifier: MIT */
/*
 * stops.h - stops jobs early, or before they begin, as a sweep's stop rule or race decides
 *
 * The stop rule (stop_rule.h) is a pure function of the events of a sweep's jobs.  Events that it
 * asks to keep are rows of stop_event, written in the turn that carries out the answer, so that a
 * ludwigd that starts again reads them and decides nothing twice.  A decision is written to the
 * job's column stop: the job's state becomes stopped as soon as no attempt is live (attempts.h),
 * and its live attempts are told to end, now and whenever their worker is back.
 *
 * With `resume`, a stopped job that left a checkpoint is queued again when the rule or an advisor
 * names it,
 * before the jobs that have not begun; its column stop is then 0 again.  The sweep does not end
 * before it is settled that no stopped job goes on.
 *
 * A race (race.h) depends only on how the jobs have ended, so none of it is stored: its record is
 * filled from the jobs' rows.  When a configuration is out, its jobs that have not begun are
 * stopped (STOP_RACED); they are queued again when it is back in, unless the sweep is over.
 *
 * A sweep with neither `stop:` nor a race needs none of this, unless its advisor stops jobs.
 */
#ifndef LUDWIG_SERVER_SEARCH_STOPS_H
#define LUDWIG_SERVER_SEARCH_STOPS_H

#include "common/proto/proto.h"
#include "server/base/server.h"

struct stops;
struct tally;
/* Also sets sv->note_search. */
struct stops *stops_create(struct server *sv);
void stops_destroy(struct stops *x); /* NULL is fine */
/* At start: queues turn work for all unfinished sweeps that stop jobs. */
int stops_load(struct server *sv, struct err *e);

/* Checks the policy of a submit: 0, or -1 with ERR_USAGE when it cannot be carried out. */
int stops_check(const struct stop_policy *policy, const struct ranking *ranking, int64_t reps,
                int64_t batch, struct err *e);
/* Which live measures workers report for such a sweep; all zero: none. */
struct live_policy stops_live(const struct stop_policy *policy, const struct guard_policy *guard,
                              const struct ranking *ranking);

/* The attempt to which a measured value belongs, and its job. */
struct reporter {
    struct token token;
    bool is_known; /* the database has the attempt, and it is this worker's */
    int64_t job, sweep, config, rep, stop;
    enum job_state state;
};
int reporter_find(struct server *sv, int64_t worker, const struct token *token, struct reporter *r,
                  struct err *e);

/* Takes a worker's measured values from index *done on, and moves *done.  Returns 1 when the turn
 * was full before the end, 0, -1.  Values of other workers' attempts, or of sweeps without `stop:`,
 * are passed over. */
int stops_take(struct server *sv, int64_t worker, const struct list *values, size_t *done,
               struct err *e);

/* Ends a job early for this reason, as the decision of a rule does. */
int stops_end_early(struct server *sv, int64_t job, const char *reason, struct tally *t,
                    struct err *e);

/* Queues a job that was stopped early before all that have not begun; it goes on from its
 * checkpoint, and `ludwig why` says the reason.  Returns 1; 0 when the job cannot go on, as it is
 * not stopped, left no checkpoint, or was cancelled, removed or exempted by a user; -1. */
int stops_resume(struct server *sv, int64_t job, const char *reason, struct tally *t,
                 struct err *e);

/* Turn work for a worker that is back: tells it which of its attempts to end early. */
int stops_tell_worker(struct server *sv, int64_t worker, struct err *e);

#endif

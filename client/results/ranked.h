/* SPDX-License-Identifier: MIT */
/*
 * ranked.h - orders the configurations of a sweep, best first, and applies --where to them
 */
#ifndef LUDWIG_CLIENT_RESULTS_RANKED_H
#define LUDWIG_CLIENT_RESULTS_RANKED_H

#include "client/term/where.h"
#include "client/results/results_out.h"
#include "client/session/rpc.h"

/* Fetches all results of a sweep and orders its configurations by the measure of the command line,
 * else of results: in the sweep, else by a guess.  Fails if there is no measure, or no
 * configuration with a finite mean of it.  The caller initialises and frees g. */
int ranked_read(struct rpc *rpc, int64_t sweep, const struct measures_said *said, struct arena *a,
                struct aggregate *g, int *ranked_by, struct err *e);
/* Leaves out the configurations that do not match --where, which knows their parameters, means and
 * numbers of jobs by outcome.  Call it after aggregate_finish. */
int ranked_leave_out(struct aggregate *g, struct where *where, struct err *e);

/* Whether --where names a field that only jobs have, not configurations: job, rep or state. */
bool ranked_is_of_jobs(const struct where *where);
/* Whether the job matches --where: its parameters, last values, job, rep, state, reason and
 * param_name. */
bool ranked_matches_job(struct where *where, const struct job_result *job);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * job_measures.h - the measures of jobs, for --where: from a job's result or its file on the share
 */
#ifndef LUDWIG_CLIENT_QUERY_JOB_MEASURES_H
#define LUDWIG_CLIENT_QUERY_JOB_MEASURES_H

#include "client/session/session.h"
#include "client/term/where.h"

struct job_measures;

/* Makes an empty store; only job_measures_learn asks the server. */
struct job_measures *job_measures_create(struct session *session);
void job_measures_destroy(struct job_measures *m); /* NULL is fine */

/* Learns the last values of the measures that where names, of all jobs of the targets' sweeps
 * (struct target), and tells where which names are measures.  If the drive cannot be read, a note
 * says that the measures of jobs without a result are not known. */
int job_measures_learn(struct job_measures *m, const struct list *targets, struct where *where,
                       struct err *e);
/* Returns the measures of a job, as "7.13": struct member. */
struct list job_measures_of(const struct job_measures *m, const char *job);

#endif

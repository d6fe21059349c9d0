/* SPDX-License-Identifier: MIT */
/*
 * removal.h - removes jobs and sweeps from the database for good
 *
 * The client removes a job's files first, as the job's row tells where they lie.  The row of a
 * removed sweep stays, invisible, for its number and its account of time spent; the numbers of its
 * configurations stay, too.
 */
#ifndef LUDWIG_SERVER_QUEUE_REMOVAL_H
#define LUDWIG_SERVER_QUEUE_REMOVAL_H

#include "server/queue/attempts.h"

/* Takes one step (how: enum remove_step) in removing a job.  Returns 1, or -1, with ERR_USAGE for a
 * job that has not ended or that has a live attempt. */
int job_remove(struct server *sv, int64_t id, unsigned how, struct tally *tally, struct err *e);

/* Removes a sweep without jobs.  Returns 1 to be called again in a later turn, 0 when done, -1. */
int sweep_remove(struct server *sv, int64_t sweep, struct err *e);

/* Turn work: gives free pages of the database back to the file system. */
int removal_shrink(struct server *sv, int64_t unused, struct err *e);

#endif

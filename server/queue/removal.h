/* SPDX-License-Identifier: MIT */
/*
 * removal.h - jobs and sweeps that go for good
 *
 * Their files go first, which the client sees to: a job's row is what says where they lie.  A removed
 * sweep's row stays, invisible, for its number and for what it has taken; the numbers of its
 * configurations stay, too.
 */
#ifndef LUDWIG_SERVER_QUEUE_REMOVAL_H
#define LUDWIG_SERVER_QUEUE_REMOVAL_H

#include "server/queue/attempts.h"

/* how: enum remove_step.  A job that is not over, or whose attempt is still being ended, is
 * ERR_USAGE.  1, or -1. */
int job_remove(struct server *sv, int64_t id, unsigned how, struct tally *tally, struct err *e);

/* When all of its jobs are removed: 1 to be called again in a later turn, 0, -1. */
int sweep_remove(struct server *sv, int64_t sweep, struct err *e);

/* Work for a turn: gives back to the file system what the database does not need any more. */
int removal_shrink(struct server *sv, int64_t unused, struct err *e);

#endif

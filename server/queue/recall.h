/* SPDX-License-Identifier: MIT */
/*
 * recall.h - takes back what was given out and has not started
 *
 * A worker answers with a report for each attempt that it gives back; one that has started
 * meanwhile goes on.  What belongs to one process (a batch) is taken back together.
 */
#ifndef LUDWIG_SERVER_QUEUE_RECALL_H
#define LUDWIG_SERVER_QUEUE_RECALL_H

#include "server/base/server.h"

struct conn;

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

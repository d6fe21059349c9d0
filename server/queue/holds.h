/* SPDX-License-Identifier: MIT */
/*
 * holds.h - carries out what the guard (guard.h) decides: holds, tries and releases jobs
 *
 * A hold is a row of the table `hold`.  A job that it holds has the row's id in its column hold, so
 * that its state is held (attempts.h).  A hold is carried out over several turns, and meanwhile no
 * job of the sweep is handed out.  A sweep without a failed job costs nothing: at its first failure
 * its history is read, and from then on each end of a job is looked at.  When users have resumed
 * all jobs of a hold, it is lifted, and the failures so far do not count any more.
 */
#ifndef LUDWIG_SERVER_QUEUE_HOLDS_H
#define LUDWIG_SERVER_QUEUE_HOLDS_H

#include "server/base/server.h"

struct holds;
struct holds *holds_create(struct server *sv);
void holds_destroy(struct holds *h); /* NULL is fine */
/* At start: queues turn work for the holds that the last ludwigd has left. */
int holds_load(struct server *sv, struct err *e);

/* A user resumes a whole sweep: lifts its holds and lets the failures so far count no more.  The
 * caller resumes the jobs. */
int holds_end_all(struct server *sv, int64_t sweep, struct err *e);
/* Failures of the sweep since since_ms were their node's: lifts the holds made since then, and has
 * the sweep's history read anew. */
int holds_take_back(struct server *sv, int64_t sweep, int64_t since_ms, struct err *e);
/* After a submit with another source, command or environment (digest: work): tries one job of each
 * hold in those sweeps of the project that run something else. */
int holds_try_project(struct server *sv, int64_t project, const struct digest *work, struct err *e);

#endif

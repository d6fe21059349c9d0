/* SPDX-License-Identifier: MIT */
/*
 * holds.h - what the guard (guard.h) decides, carried out
 *
 * A decision is a row of the table `hold`.  Jobs that it holds have its number, so that their state
 * is held (attempts.h); what of it is not carried out yet is done in the turns that follow, and
 * meanwhile no job of the sweep is handed out.  Nothing is computed for a sweep of which no job
 * failed: at the first failure its history is read, and from then on each end of a job is looked
 * at.  When users have resumed all jobs of a hold it is lifted, and the failures so far do not
 * count any more.
 */
#ifndef LUDWIG_SERVER_QUEUE_HOLDS_H
#define LUDWIG_SERVER_QUEUE_HOLDS_H

#include "server/base/server.h"

struct holds;
struct holds *holds_create(struct server *sv);
void holds_destroy(struct holds *h); /* NULL is fine */
/* Goes on with what the last ludwigd left. */
int holds_load(struct server *sv, struct err *e);

/* A user resumes all of a sweep: its holds are lifted, and the failures so far do not count any more.
 * Its jobs are resumed by the caller. */
int holds_end_all(struct server *sv, int64_t sweep, struct err *e);
/* Somebody submitted with another source, command or environment: one job of each hold in the
 * project's sweeps that have not that work is tried. */
int holds_try_project(struct server *sv, int64_t project, const struct digest *work, struct err *e);

#endif

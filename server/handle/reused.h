/* SPDX-License-Identifier: MIT */
/* reused.h - jobs that are done already and need not run again, and where their results lie */
#ifndef LUDWIG_SERVER_HANDLE_REUSED_H
#define LUDWIG_SERVER_HANDLE_REUSED_H

#include "server/base/server.h"

/* Empty: all zeroes but the arena, which the caller owns. */
struct reused_jobs {
    struct arena *arena;
    struct list list; /* struct reused_job */
    size_t capacity;
};

/* Finds the job that makes a replication with this work (NULL: with any work) unnecessary: 1 with
 * *job, 0 if there is none, -1 with e set. */
int reused_find(struct server *sv, int64_t param, int64_t rep, const struct digest *work,
                int64_t *job, struct err *e);
/* Adds where the job's results lie, so that the client looks whether they are there.  A job without
 * results is not added. */
int reused_add(struct server *sv, struct reused_jobs *jobs, const char *project, int64_t job,
               struct err *e);

#endif

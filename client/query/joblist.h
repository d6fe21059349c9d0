/* SPDX-License-Identifier: MIT */
/*
 * joblist.h - jobs that are kept, to be sorted or written as CSV
 */
#ifndef LUDWIG_CLIENT_QUERY_JOBLIST_H
#define LUDWIG_CLIENT_QUERY_JOBLIST_H

#include "common/proto/proto.h"

/* A list that is zero-initialised but for the arena is empty. */
struct joblist {
    struct arena *arena; /* holds the jobs' texts */
    struct job_info *jobs;
    size_t n, capacity;
};

void joblist_add(struct joblist *l, const struct job_info *jobs, size_t n);
void joblist_free(struct joblist *l);

/* Sorts by a field of jobs, as in --where, or by a parameter; "-NAME": the largest first.  Jobs
 * without a value come last, and equal ones keep their order.  ERR_USAGE: no job has that name. */
int joblist_sort(struct joblist *l, const char *name, struct err *e);

/* With a column for each parameter that any of them has. */
void joblist_add_csv(struct buf *out, struct joblist *l, int64_t now_ms);

#endif

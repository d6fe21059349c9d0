/* SPDX-License-Identifier: MIT */
/*
 * joblist.h - jobs that are kept, to be sorted or written as CSV
 */
#ifndef LUDWIG_CLIENT_QUERY_JOBLIST_H
#define LUDWIG_CLIENT_QUERY_JOBLIST_H

#include "client/query/jobinfo.h"

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

/* Returns the job's field or parameter of that name, or "seconds" (how long it ran); null: it has
 * none.  The value points into row and j. */
struct value joblist_value(struct jobinfo_row *row, const struct job_info *j, const char *name);
/* ERR_USAGE for a name that is neither a field nor a parameter of any job. */
int joblist_check_columns(const struct joblist *l, const struct list *names, struct err *e);
/* Appends the jobs as CSV with these columns (const char *). */
void joblist_add_columns(struct buf *out, const struct joblist *l, const struct list *names);

/* Appends the jobs as CSV, with a column for each parameter that any of them has. */
void joblist_add_csv(struct buf *out, struct joblist *l, int64_t now_ms);

#endif

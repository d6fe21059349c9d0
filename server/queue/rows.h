/* SPDX-License-Identifier: MIT */
/*
 * rows.h - reads rows of sweeps, jobs and results into structs of messages
 *
 * All texts and values are in the arena.  Functions return 0, -1 with e set.
 */
#ifndef LUDWIG_SERVER_QUEUE_ROWS_H
#define LUDWIG_SERVER_QUEUE_ROWS_H

#include "common/proto/proto.h"
#include "server/base/server.h"

/* A page of a listing ends at about this size, so that little memory waits for a slow reader. */
enum { ROWS_PAGE_BYTES = 192 * 1024 };

/* Reads the current row of a statement that selects SWEEP_COLUMNS; *owner: the sweep's uid. */
void row_sweep_row(struct server *sv, struct stmt *s, struct arena *a, struct sweep_info *info,
                   int64_t *owner);
/* Removes words of errors and values of parameters, for readers who may see the progress only. */
void row_sweep_hide(struct sweep_info *info);
/* ERR_NOT_FOUND for a sweep that does not exist or is still being submitted. */
int row_sweep(struct server *sv, int64_t sweep, struct arena *a, struct sweep_info *info,
              int64_t *owner, struct err *e);

/* row_job and row_result add to *size_bytes about what the job will take in a message. */
int row_job(struct server *sv, const char *project, int64_t job, struct arena *a,
            struct job_info *info, size_t *size_bytes, struct err *e);
int row_result(struct server *sv, const char *project, int64_t job, struct arena *a,
               struct job_result *result, size_t *size_bytes, struct err *e);

/* A job's place (queue_order) in its sweep's queue: by rank (job.early), highest first, then no. */
int64_t queue_place(int64_t no, int64_t rank);
#define QUEUE_RANK (INT64_C(1) << 40) /* more than the jobs of any sweep */
/* The rank of a stopped job that goes on: it stands before all jobs that have not begun. */
enum { QUEUE_RESUMED = 1 << 20 };
/* What job_name_find remembers from one call to the next; zeros at first. */
struct job_names {
    int64_t param; /* the configuration of the last name; 0: none */
    int64_t after; /* the number after the one in that name */
};
/* Makes a name that no job of the configuration has: "STAMP_numREP", or with another number. */
int job_name_find(struct server *sv, struct job_names *last, const char *stamp, int64_t param,
                  int64_t rep, struct buf *name, struct err *e);
/* The name of the project's configuration with this number, in the arena. */
const char *row_param_name(struct arena *a, int64_t no);
/* The checkpoint that a job of this user left for the configuration and replication, in the arena;
 * job_name NULL: none.  Other users' do not count, as programs trust what they load. */
int row_left_checkpoint(struct server *sv, int64_t param, int64_t rep, int64_t uid, struct arena *a,
                        struct checkpoint_origin *left, struct err *e);
/* The mean run time, at least 1 ms; 0 when no job has ended. */
int64_t row_mean_ms(int64_t ran_jobs, int64_t ran_ms);

#endif

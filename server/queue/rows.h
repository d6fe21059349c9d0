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
/* ERR_NOT_FOUND for a sweep that is not there, or open. */
int row_sweep(struct server *sv, int64_t sweep, struct arena *a, struct sweep_info *info,
              int64_t *owner, struct err *e);

/* row_job and row_result add to *size_bytes about what the job will take in a message. */
int row_job(struct server *sv, const char *project, int64_t job, struct arena *a,
            struct job_info *info, size_t *size_bytes, struct err *e);
int row_result(struct server *sv, const char *project, int64_t job, struct arena *a,
               struct job_result *result, size_t *size_bytes, struct err *e);

/* A job's place in its sweep's queue: early ones stand before all others. */
int64_t queue_place(int64_t no, bool is_early);
/* The name of the project's configuration with this number, in the arena. */
const char *row_param_name(struct arena *a, int64_t no);
/* The mean run time; 0 when no job has ended. */
int64_t row_mean_ms(int64_t ran_jobs, int64_t ran_ms);

#endif

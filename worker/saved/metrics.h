/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - the last, least and largest value of each measure that a job reported
 *
 * From the file of JSON lines ({"accuracy": 0.9, "step": 3}: every number is a measure
 * but step, job, done and failed) and from CSV series as pandas writes them (index,
 * value; the measure is the file's name).  Lines that are nothing of the sort are
 * skipped, as are measures beyond METRICS_MAX.  A last value that is nan or infinite stays, as
 * it tells of a job that went astray; it has no part in the range nor in the count.
 */
#ifndef LUDWIG_WORKER_SAVED_METRICS_H
#define LUDWIG_WORKER_SAVED_METRICS_H

#include "common/proto/jobspec.h"

struct metrics {
    struct arena *arena; /* holds the names */
    struct metric items[METRICS_MAX];
    size_t n;
};

/* Reads whatever is there; what cannot be read is left out. */
void metrics_read_lines(struct metrics *m, int dir_fd, const char *name);
void metrics_read_series(struct metrics *m, int dir_fd, const char *name);
/* Whether path is a *.csv in the folder itself. */
bool metrics_is_series(const char *path);
/* Reads every *.csv in the folder itself. */
void metrics_read_folder(struct metrics *m, int dir_fd);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - the last, least and largest value of each measure that a job reported
 *
 * They come from the job's file of JSON lines ({"accuracy": 0.9, "step": 3}; common/proto/
 * metric_line.h) and from CSV series as pandas writes them (index, value; the file's name is the
 * measure's), unless JSON lines tell the measure.  Other lines are skipped, as are measures beyond
 * METRICS_MAX.  A last value that is nan or infinite is kept, as it shows that a job went astray,
 * but does not count in the range and in n.
 */
#ifndef LUDWIG_WORKER_SAVED_METRICS_H
#define LUDWIG_WORKER_SAVED_METRICS_H

#include "common/proto/metric_list.h"

struct metrics {
    struct metric_list list;
    size_t n_told; /* of these, from JSON lines */
};

/* Add what they find in the file to *m, whose list.arena is set; they leave out what cannot be
 * read. */
void metrics_read_lines(struct metrics *m, int dir_fd, const char *name);
void metrics_read_series(struct metrics *m, int dir_fd, const char *name);
/* Whether path is that of a series: a *.csv that lies in no subfolder. */
bool metrics_is_series(const char *path);
/* Reads every series in the folder. */
void metrics_read_folder(struct metrics *m, int dir_fd);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - the last, least and largest value of each measure that a job reported
 *
 * They come from files of JSON lines ({"accuracy": 0.9, "step": 3}; common/proto/metric_line.h),
 * of the attempt and of those before it, and from CSV series as pandas writes them (index, value;
 * the file's name is the measure's), unless lines of this attempt tell the measure.  Other lines
 * are left out, as are measures beyond METRICS_MAX, and the attempt's own are counted.  A later value replaces an earlier one of the
 * same step: both are not in the range, which is that of the curve.  A last value that is nan or
 * infinite is kept, as it shows that a job went astray, but does not count in the range and in n.
 */
#ifndef LUDWIG_WORKER_SAVED_METRICS_H
#define LUDWIG_WORKER_SAVED_METRICS_H

#include "common/base/buf.h"
#include "common/proto/metric_list.h"

struct metrics {
    struct metric_list list;
    /* Set to a buffer before reading: gets all values of series as lines. */
    struct buf *series_lines;
    size_t n_left_out;    /* lines of this attempt that are no measures, or of which some are not */
    const char *left_out; /* the first of them: "line 7 is no JSON object" */
    /* The rest is for metrics.c: */
    int64_t line;
    bool line_has_value, line_lacks_value, in_long_line;
    struct metrics_track *tracks; /* of each item of the list */
    size_t tracks_capacity;
    bool goes_back;                /* a measure came to a step that it had passed */
    struct metrics_points *points; /* not NULL: values are only collected */
};

/* Where the files of an attempt lie. */
struct metrics_files {
    int dir_fd;
    const char *earlier; /* lines of earlier attempts; any of the files may be missing */
    const char *lines;
    int saved_fd; /* the folder with the CSV series; -1: there are none */
};

/* Reads all into *m, whose list.arena is set and which is zero otherwise.  Leaves out what cannot be
 * read. */
void metrics_read(struct metrics *m, const struct metrics_files *files);
/* Whether path is that of a series: a *.csv that lies in no subfolder. */
bool metrics_is_series(const char *path);

#endif

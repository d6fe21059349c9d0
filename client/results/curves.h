/* SPDX-License-Identifier: MIT */
/*
 * curves.h - reads series of many jobs, thinned so that they fit into a picture
 *
 * Of a long series every second, fourth, eighth... point is kept, and the last one, so that
 * replications of the same length keep the same steps.
 */
#ifndef LUDWIG_CLIENT_RESULTS_CURVES_H
#define LUDWIG_CLIENT_RESULTS_CURVES_H

#include "client/results/series.h"

struct curve_point {
    double step; /* NAN: the file has none that is a number */
    double value;
};

/* A job's series of a measure. */
struct curve {
    size_t job, metric;
    struct curve_point *points;
    size_t n, capacity;
    size_t n_seen, stride;   /* points seen so far; every stride-th of them is kept */
    struct curve_point last; /* the last point seen */
};

struct curves {
    struct curve *items; /* job by job */
    size_t n, capacity;
    size_t points_max; /* of each curve, an even number */
};

/* Sets points_max: the more series, the fewer points of each. */
void curves_init(struct curves *c, size_t n_series);
void curves_free(struct curves *c);
/* Reads the job's series of n measures, as job number index.  Series that it lacks, or that cannot
 * be read, are left out. */
void curves_read(struct curves *c, size_t index, struct share_dir *fs, const struct job_result *job,
                 const char *const *metrics, size_t n);

#endif

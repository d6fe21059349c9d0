/* SPDX-License-Identifier: MIT */
/*
 * gather.h - collects all that is known of a sweep's results, for pages and exports
 *
 * Beside the aggregate these are its jobs, where and when they ran, and their series.
 */
#ifndef LUDWIG_CLIENT_RESULTS_GATHER_H
#define LUDWIG_CLIENT_RESULTS_GATHER_H

#include "client/results/aggregate.h"
#include "client/results/curves.h"
#include "client/session/session.h"

/* Series are read of so many jobs, those of the first configurations, and of so many metrics. */
enum { GATHER_SERIES_MAX = 2000, GATHER_SERIES_METRICS_MAX = 6 };

/* A job of the sweep, with what the server knows of its run. */
struct gathered_job {
    struct job_result result; /* without metrics and params */
    size_t config;            /* index in the aggregate */
    const char *node;         /* NULL: not known */
    int64_t started_at, ended_at;
};

struct gathered {
    struct arena *arena;
    struct aggregate *aggregate; /* finished */
    int ranked_by;               /* index of a metric, -1: none */
    struct list sweeps;          /* struct sweep_info, at least one; of one project */
    struct gathered_job *jobs;
    size_t n_jobs, jobs_capacity;
    struct curves curves;
    struct list notes; /* const char *: sentences about what is not there */
};

/* Keeps a job of a sweep, before the aggregate is looked at. */
void gather_job(struct gathered *g, const struct job_result *job);
/* Finds each job's configuration in the aggregate, asks the server where and when jobs ran, and
 * reads their series from the drive. */
int gather_learn(struct gathered *g, struct session *session, struct err *e);
/* The mean over the jobs of a configuration that have a value at this step. */
struct mean_point {
    double step;      /* counted from 0 where a series has no steps that are numbers */
    double mean, std; /* std is 0 for n 1 */
    size_t n;         /* jobs */
};
/* Returns struct mean_point by steps, in the arena; empty: no job has a series of the metric. */
struct list gather_mean_curve(const struct gathered *g, size_t config, size_t metric,
                              struct arena *a);
void gather_free(struct gathered *g);

#endif

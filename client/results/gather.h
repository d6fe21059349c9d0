/* SPDX-License-Identifier: MIT */
/*
 * gather.h - collects all that is known of a sweep's results, for pages and exports
 *
 * Beside the aggregate these are its jobs, where and when they ran, and their series.
 */
#ifndef LUDWIG_CLIENT_RESULTS_GATHER_H
#define LUDWIG_CLIENT_RESULTS_GATHER_H

#include "client/query/triage.h"
#include "client/results/aggregate.h"
#include "client/results/curves.h"
#include "client/results/results_out.h"
#include "client/session/session.h"

/* Series are read of so many jobs, those of the first configurations, and of so many metrics. */
enum { GATHER_SERIES_MAX = 2000, GATHER_SERIES_METRICS_MAX = 6 };

/* A job of the sweep, with what the server knows of its run. */
struct gathered_job {
    struct job_result result; /* without metrics and params */
    size_t config;            /* index in the aggregate */
    const char *node;         /* NULL: not known */
    const char *gpu_ids;      /* the node's GPUs that it had: "0,2"; NULL: none, or not known */
    const char *resumed;      /* why it went on after it had been stopped early; NULL: it did not */
    int64_t started_at, ended_at;
};

struct gathered {
    struct arena *arena;
    bool wants_live;             /* gather_sweep also reads what running jobs have reported */
    bool wants_triage;           /* gather_learn also finds why jobs failed */
    bool wants_nodes;            /* gather_learn also asks for the nodes and pilots of now */
    bool is_quiet;               /* prints nothing on the terminal */
    struct aggregate *aggregate; /* finished */
    int ranked_by;               /* index of a metric, -1: none */
    struct list sweeps;          /* struct sweep_info, at least one; of one project */
    struct gathered_job *jobs;
    size_t n_jobs, jobs_capacity;
    struct curves curves;
    struct triage *triage;             /* NULL: not wanted, or not asked for yet */
    struct list causes;                /* struct triage_group, the most frequent first */
    const struct msg_node_page *nodes; /* without names of users; NULL: not wanted */
    struct list notes;                 /* const char *: sentences about what is missing */
};

/* Asks for a sweep, adds its jobs to the aggregate, which the caller has initialised, and ranks and
 * finishes that.  Leave out configurations afterwards, before gather_learn. */
int gather_sweep(struct gathered *g, struct session *session, int64_t sweep,
                 const struct measures_said *said, struct err *e);
/* Keeps a job in g->jobs; call it before gather_learn. */
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

/* SPDX-License-Identifier: MIT */
/*
 * aggregate.h - what the replications of each configuration have in common
 *
 * Add all results, then call aggregate_finish; the statistics are there after it.  Once
 * configurations were left out or sorted no result can be added.
 */
#ifndef LUDWIG_CLIENT_RESULTS_AGGREGATE_H
#define LUDWIG_CLIENT_RESULTS_AGGREGATE_H

#include <stdbool.h>

#include "common/base/hash_table.h"
#include "common/proto/proto.h"

/* Of n values.  NAN: not defined, as the deviation of one value, or all of no value at all. */
struct stats {
    int64_t n;
    double mean;
    double std; /* of a sample (n - 1) */
    double min;
    double q1; /* quartiles lie between values, as numpy.quantile's default has them */
    double median;
    double q3;
    double max;
};

/* Sorts values.  One that is not finite leaves all of it undefined. */
void stats_of(struct stats *s, double *values, size_t n);
int stats_compare(const void *x, const void *y); /* doubles, for qsort */

/* What one job reported of a measure. */
struct sample {
    double last, min, max;
};

struct measure {
    struct sample *samples;
    size_t n, capacity;
    int64_t n_nan;     /* whose last value is not finite */
    struct stats last; /* of the last value of each job */
    struct stats best; /* of the best value of each job, by the measure's goal */
    int goal;          /* enum goal */
};

struct config_job {
    const char *job; /* "7.13" */
    bool done;
};

struct config_result {
    const char *param_name;
    struct value params;
    int64_t n_done;           /* jobs with results */
    int64_t n_left;           /* that are not over yet */
    struct job_counts counts; /* by state */
    int64_t n_nan;            /* of those that are done, with a last value that is not finite */
    struct config_job *jobs;  /* in the order they came */
    size_t n_jobs, jobs_capacity;
    const char *reason;       /* of the first that failed, or NULL */
    struct measure *measures; /* one for each of the aggregate's metrics; n may be 0 */
    size_t n_measures;        /* those beyond have no value */
};

struct aggregate {
    struct arena *arena;
    struct config_result *configs; /* in the order they came */
    size_t n, capacity;
    const char **metrics; /* names, in the order they came */
    size_t n_metrics, metrics_capacity;
    struct hash_table *by_name; /* indices of configurations */
    const char *goal_metric;    /* whose goal is known, or NULL */
    enum goal goal;
};

void aggregate_init(struct aggregate *g);
void aggregate_free(struct aggregate *g);
/* Said by the user, where others follow from their names. */
void aggregate_set_goal(struct aggregate *g, const char *metric, enum goal goal);
void aggregate_add(struct aggregate *g, const struct job_result *r);
/* A state in which a job ends without a result: how many did is told by the name of the state. */
bool aggregate_counts(enum job_state state);
/* Only those configurations stay for which keep[i] is true. */
void aggregate_keep(struct aggregate *g, const bool *keep);
/* Computes the statistics of what was added. */
void aggregate_finish(struct aggregate *g);

/* NULL when no job of the configuration that is done reported the metric. */
const struct measure *aggregate_measure(const struct config_result *c, size_t metric);
enum goal aggregate_goal(const struct aggregate *g, size_t metric);

/* Names of the parameters that differ between configurations: allocated in the aggregate. */
struct list aggregate_varying(struct aggregate *g); /* const char * */

/* As its name suggests: loss, error, perplexity and the like are small when they are good. */
enum goal goal_of(const char *metric);
/* Index of a metric by its name, -1 when no job reported it. */
int aggregate_find_metric(const struct aggregate *g, const char *name);
/* Index of the metric that counts: the only one, or accuracy, or loss.  -1 when unknown. */
int aggregate_main_metric(const struct aggregate *g);
/* Index of the best configuration by the mean of a metric, -1 when there is none. */
int64_t aggregate_best(const struct aggregate *g, size_t metric);
/* Orders the configurations by the mean of a metric, best first; those without one last. */
void aggregate_sort(struct aggregate *g, size_t metric);

#endif

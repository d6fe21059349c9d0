/* SPDX-License-Identifier: MIT */
/*
 * aggregate.h - statistics over the replications of each configuration
 *
 * Add all results, then call aggregate_finish, which computes the statistics.  Once
 * configurations were left out or sorted no result can be added.
 */
#ifndef LUDWIG_CLIENT_RESULTS_AGGREGATE_H
#define LUDWIG_CLIENT_RESULTS_AGGREGATE_H

#include <stdbool.h>

#include "common/base/hash_table.h"
#include "common/proto/proto.h"

/* Statistics of n values.  NAN: not defined, as the deviation of one value, or all for n 0. */
struct stats {
    int64_t n;
    double mean;
    double std; /* of a sample (n - 1) */
    double min;
    double q1; /* quartiles are interpolated, as numpy.quantile does by default */
    double median;
    double q3;
    double max;
};

/* Sorts values.  A value that is not finite leaves all members but n undefined. */
void stats_of(struct stats *s, double *values, size_t n);
int stats_compare(const void *x, const void *y); /* doubles, for qsort */

/* One job's values of a measure. */
struct sample {
    double last, min, max;
};

struct measure {
    struct sample *samples;
    size_t n, capacity;
    int64_t n_nan;     /* jobs whose last value is not finite */
    struct stats last; /* of the last value of each job */
    struct stats best; /* of the best value of each job, by the measure's goal */
    int goal;          /* enum goal */
    /* Jobs without a result, which the members above do not count. */
    int64_t n_live;
    double live;       /* the mean of their last values; NAN: there are no such jobs */
    int64_t live_step; /* their highest step; SCHEMA_NONE: none */
};

struct config_job {
    const char *job; /* "7.13" */
    bool done;
};

struct config_result {
    const char *param_name;
    struct value params;
    int64_t n_done;           /* jobs with results */
    int64_t n_left;           /* jobs that are not over yet */
    struct job_counts counts; /* by state */
    int64_t n_nan;            /* done jobs with a last value that is not finite */
    struct config_job *jobs;  /* in the order they were added */
    size_t n_jobs, jobs_capacity;
    const char *reason;       /* of the first failed job, or NULL */
    int64_t max_rss_bytes;    /* the most that one of its jobs held; SCHEMA_NONE: not known */
    int64_t n_cpu;            /* jobs whose cpu_seconds are known */
    double cpu_seconds;       /* the mean of these jobs; NAN: there are none */
    int64_t gpu_memory_bytes; /* the most GPU memory of one of its jobs; SCHEMA_NONE: not known */
    int64_t n_gpu;            /* jobs whose gpu_percent is known */
    double gpu_percent;       /* how busy their GPUs were, on average */
    struct measure *measures; /* one for each of the aggregate's metrics; n may be 0 */
    size_t n_measures;        /* later metrics have no value */
};

struct aggregate {
    struct arena *arena;
    struct config_result *configs; /* in the order they were added */
    size_t n, capacity;
    const char **metrics; /* names, in the order they were added */
    size_t n_metrics, metrics_capacity;
    struct hash_table *by_name; /* indices of configurations */
    const char *goal_metric;    /* the metric with a goal from the user, or NULL */
    enum goal goal;
};

void aggregate_init(struct aggregate *g);
void aggregate_free(struct aggregate *g);
/* Sets the goal that the user gave; other metrics' goals follow from their names. */
void aggregate_set_goal(struct aggregate *g, const char *metric, enum goal goal);
void aggregate_add(struct aggregate *g, const struct job_result *r);
/* Adds the values that one job of the configuration, without a result (yet), has reported. */
void aggregate_add_live(struct aggregate *g, const char *param_name, const struct list *metrics);
/* Whether jobs that end in this state leave no result, so that they are counted by its name. */
bool aggregate_counts(enum job_state state);
/* Leaves out the configurations for which keep[i] is false. */
void aggregate_keep(struct aggregate *g, const bool *keep);
/* Makes configurations with the same values of these parameters one, with the jobs of all of them,
 * which is named by these values ("lr=0.1") and has no other parameters.  Call aggregate_finish,
 * again if need be, afterwards. */
void aggregate_group(struct aggregate *g, const struct list *by /* const char * */);
/* Computes the statistics of what was added. */
void aggregate_finish(struct aggregate *g);

/* Returns the metric of the configuration; NULL: none of its done jobs reported it. */
const struct measure *aggregate_measure(const struct config_result *c, size_t metric);
/* Returns a metric that only jobs without a result reported; NULL: a done job did, or no job. */
const struct measure *aggregate_live(const struct config_result *c, size_t metric);
/* Returns the user's goal for the metric, or what its name suggests; else GOAL_MAX, and then
 * aggregate_goal_is_known is false. */
enum goal aggregate_goal(const struct aggregate *g, size_t metric);
bool aggregate_goal_is_known(const struct aggregate *g, size_t metric);

/* Return the names (const char *, in the aggregate's arena) of all parameters, in the order they
 * appear, or of those that differ between configurations. */
struct list aggregate_params(struct aggregate *g);
struct list aggregate_varying(struct aggregate *g);

/* Index of a metric by its name, -1 when no job reported it. */
int aggregate_find_metric(const struct aggregate *g, const char *name);
/* Index of the main metric: the only one, or accuracy, or loss.  -1 when unknown. */
int aggregate_main_metric(const struct aggregate *g);
/* Index of the best configuration by the mean of a metric, -1 when there is none. */
int64_t aggregate_best(const struct aggregate *g, size_t metric);
/* Orders the configurations by the mean of a metric, best first; those without one last. */
void aggregate_sort(struct aggregate *g, size_t metric);

#endif

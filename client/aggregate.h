/* SPDX-License-Identifier: MIT */
/*
 * aggregate.h - what the replications of each configuration have in common
 */
#ifndef LUDWIG_CLIENT_AGGREGATE_H
#define LUDWIG_CLIENT_AGGREGATE_H

#include <stdbool.h>

#include "common/proto.h"

/* n values: zero-initialised is none. */
struct stats {
    int64_t n;
    double mean;
    double sum_of_squares; /* of the distances from the mean */
    double min, max;
};

void stats_add(struct stats *s, double value);
double stats_std(const struct stats *s); /* of a sample (n - 1); NAN below two values */

struct config_result {
    const char *param_name;
    struct value params;
    int64_t n_jobs;        /* that are done */
    struct stats *metrics; /* one for each of the aggregate's metrics; n may be 0 */
    size_t n_metrics;      /* those beyond have no value */
};

struct aggregate {
    struct arena *arena;
    struct config_result *configs; /* in the order they came */
    size_t n, capacity;
    const char **metrics; /* names, in the order they came */
    size_t n_metrics, metrics_capacity;
    size_t *slots; /* of a hash table: index + 1 of a configuration by its name */
    size_t n_slots;
};

void aggregate_init(struct aggregate *g);
void aggregate_free(struct aggregate *g);
void aggregate_add(struct aggregate *g, const struct job_result *r);
const struct stats *aggregate_stats(const struct config_result *c, size_t metric);

/* Names of the parameters that differ between configurations: allocated in the aggregate. */
struct list aggregate_varying(struct aggregate *g); /* const char * */

enum goal { GOAL_NONE, GOAL_MAX, GOAL_MIN };
/* As its name suggests: loss, error, perplexity and the like are small when they are good. */
enum goal goal_of(const char *metric);
/* Index of the metric that counts: the only one, or accuracy, or loss.  -1 when unknown. */
int aggregate_main_metric(const struct aggregate *g);
/* Index of the best configuration by it, -1 when there is none. */
int64_t aggregate_best(const struct aggregate *g, size_t metric, enum goal goal);
/* Orders the configurations by the mean of a metric, best first; those without one last. */
void aggregate_sort(struct aggregate *g, size_t metric, enum goal goal);

#endif

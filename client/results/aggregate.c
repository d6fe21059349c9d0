/* SPDX-License-Identifier: MIT */
/* aggregate.c - what the replications of each configuration have in common */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/results/aggregate.h"
#include "common/base/mem.h"

/* ---- statistics ---- */

static int compare_numbers(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Welford's way: no large sums, so that nothing cancels. */
static void add_moments(struct stats *s, const double *values, size_t n)
{
    double mean = 0, sum_of_squares = 0;

    for (size_t i = 0; i < n; i++) {
        double distance = values[i] - mean;

        mean += distance / (double)(i + 1);
        sum_of_squares += distance * (values[i] - mean);
    }
    s->mean = mean;
    s->std = n < 2 ? (double)NAN : sqrt(sum_of_squares / (double)(n - 1));
}

static double quantile(const double *sorted, size_t n, double q)
{
    double place = q * (double)(n - 1), below = floor(place);
    size_t i = (size_t)below;

    if (place <= below)
        return sorted[i];
    return sorted[i] + (place - below) * (sorted[i + 1] - sorted[i]);
}

void stats_of(struct stats *s, double *values, size_t n)
{
    const double none = (double)NAN;

    *s = (struct stats){ (int64_t)n, none, none, none, none, none, none, none };
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return;
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, compare_numbers);
    add_moments(s, values, n);
    s->min = values[0];
    s->q1 = quantile(values, n, 0.25);
    s->median = quantile(values, n, 0.5);
    s->q3 = quantile(values, n, 0.75);
    s->max = values[n - 1];
}

/* ---- collecting ---- */

void aggregate_init(struct aggregate *g)
{
    *g = (struct aggregate){ .arena = arena_create() };
}

static void free_config(struct config_result *c)
{
    for (size_t i = 0; i < c->n_measures; i++)
        free(c->measures[i].samples);
    free(c->measures);
    free(c->jobs);
}

void aggregate_free(struct aggregate *g)
{
    for (size_t i = 0; i < g->n; i++)
        free_config(&g->configs[i]);
    free(g->configs);
    free(g->metrics);
    free(g->slots);
    arena_destroy(g->arena);
    *g = (struct aggregate){ 0 };
}

/* FNV-1a */
static size_t hash_of(const char *name)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)h;
}

/* Where the name is, or would be put. */
static size_t *find_slot(struct aggregate *g, const char *name)
{
    size_t i = hash_of(name) & (g->n_slots - 1);

    while (g->slots[i] != 0 && strcmp(g->configs[g->slots[i] - 1].param_name, name) != 0)
        i = (i + 1) & (g->n_slots - 1);
    return &g->slots[i];
}

/* Room for one more than there are, and where each of them is. */
static void make_slots(struct aggregate *g)
{
    free(g->slots);
    for (g->n_slots = 64; g->n_slots <= 2 * g->n; g->n_slots *= 2)
        ;
    g->slots = mem_alloc(g->n_slots * sizeof *g->slots);
    for (size_t i = 0; i < g->n; i++)
        *find_slot(g, g->configs[i].param_name) = i + 1;
}

static struct config_result *find_config(struct aggregate *g, const struct job_result *r)
{
    size_t *slot;

    if (2 * g->n >= g->n_slots)
        make_slots(g);
    slot = find_slot(g, r->param_name);
    if (*slot == 0) {
        mem_grow((void **)&g->configs, &g->capacity, g->n, sizeof *g->configs);
        g->configs[g->n++] =
            (struct config_result){ .param_name = arena_strdup(g->arena, r->param_name),
                                    .params = value_copy(g->arena, &r->params) };
        *slot = g->n;
    }
    return &g->configs[*slot - 1];
}

int aggregate_find_metric(const struct aggregate *g, const char *name)
{
    for (size_t i = 0; i < g->n_metrics; i++)
        if (strcmp(g->metrics[i], name) == 0)
            return (int)i;
    return -1;
}

static size_t make_metric(struct aggregate *g, const char *name)
{
    int found = aggregate_find_metric(g, name);

    if (found >= 0)
        return (size_t)found;
    mem_grow((void **)&g->metrics, &g->metrics_capacity, g->n_metrics, sizeof *g->metrics);
    g->metrics[g->n_metrics] = arena_strdup(g->arena, name);
    return g->n_metrics++;
}

static struct measure *make_measure(struct config_result *c, size_t metric)
{
    size_t n = c->n_measures;

    if (metric >= n) {
        c->measures = mem_resize(c->measures, metric + 1, sizeof *c->measures);
        memset(c->measures + n, 0, (metric + 1 - n) * sizeof *c->measures);
        c->n_measures = metric + 1;
    }
    return &c->measures[metric];
}

/* Of a job that told no range the last value is all there is. */
static void add_sample(struct measure *m, const struct metric *value)
{
    bool has_range = !isnan(value->min) && !isnan(value->max) && value->n > 0;

    mem_grow((void **)&m->samples, &m->capacity, m->n, sizeof *m->samples);
    m->n_nan += !isfinite(value->value);
    m->samples[m->n++] = (struct sample){ .last = value->value,
                                          .min = has_range ? value->min : value->value,
                                          .max = has_range ? value->max : value->value };
}

void aggregate_add(struct aggregate *g, const struct job_result *r)
{
    struct config_result *c = find_config(g, r);
    const struct metric *metrics = r->metrics.items;
    bool has_nan = false;

    mem_grow((void **)&c->jobs, &c->jobs_capacity, c->n_jobs, sizeof *c->jobs);
    c->jobs[c->n_jobs++] =
        (struct config_job){ arena_strdup(g->arena, r->job), r->state == JOB_DONE };
    c->n_done += r->state == JOB_DONE;
    c->n_failed += r->state == JOB_FAILED;
    c->n_cancelled += r->state == JOB_CANCELLED;
    c->n_left += !job_is_ended((enum job_state)r->state);
    if (r->state == JOB_FAILED && c->reason == NULL && r->reason != NULL)
        c->reason = arena_strdup(g->arena, r->reason);
    if (r->state != JOB_DONE)
        return;
    for (size_t i = 0; i < r->metrics.n; i++) {
        has_nan = has_nan || !isfinite(metrics[i].value);
        add_sample(make_measure(c, make_metric(g, metrics[i].name)), &metrics[i]);
    }
    c->n_nan += has_nan;
}

void aggregate_keep(struct aggregate *g, const bool *keep)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++) {
        if (keep[i])
            g->configs[n++] = g->configs[i];
        else
            free_config(&g->configs[i]);
    }
    g->n = n;
    make_slots(g);
}

void aggregate_set_goal(struct aggregate *g, const char *metric, enum goal goal)
{
    g->goal_metric = metric == NULL ? NULL : arena_strdup(g->arena, metric);
    g->goal = goal;
}

enum goal aggregate_goal(const struct aggregate *g, size_t metric)
{
    if (g->goal_metric != NULL && strcmp(g->goal_metric, g->metrics[metric]) == 0)
        return g->goal;
    return goal_of(g->metrics[metric]);
}

static void finish_measure(struct measure *m, enum goal goal)
{
    double *values = mem_resize(NULL, m->n, sizeof *values);

    for (size_t i = 0; i < m->n; i++)
        values[i] = m->samples[i].last;
    stats_of(&m->last, values, m->n);
    for (size_t i = 0; i < m->n; i++)
        values[i] = goal == GOAL_MIN ? m->samples[i].min : m->samples[i].max;
    stats_of(&m->best, values, m->n);
    free(values);
}

void aggregate_finish(struct aggregate *g)
{
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->configs[i].n_measures; k++)
            finish_measure(&g->configs[i].measures[k], aggregate_goal(g, k));
}

const struct measure *aggregate_measure(const struct config_result *c, size_t metric)
{
    return metric < c->n_measures && c->measures[metric].n > 0 ? &c->measures[metric] : NULL;
}

/* ---- parameters ---- */

static bool varies(const struct aggregate *g, const char *name)
{
    const struct value *first = value_get(&g->configs[0].params, name);

    for (size_t i = 1; i < g->n; i++) {
        const struct value *other = value_get(&g->configs[i].params, name);

        if ((first == NULL) != (other == NULL) || (first != NULL && !value_equal(first, other)))
            return true;
    }
    return false;
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* All names of parameters, in the order they appear; the caller frees it. */
static const char **list_names(const struct aggregate *g, size_t *n)
{
    const char **names = NULL;
    size_t capacity = 0;

    *n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct value *params = &g->configs[i].params;

        for (size_t k = 0; params->type == VALUE_MAP && k < params->map.n; k++) {
            const char *name = params->map.members[k].key.str.s;

            if (is_listed(names, *n, name))
                continue;
            mem_grow((void **)&names, &capacity, *n, sizeof *names);
            names[(*n)++] = name;
        }
    }
    return names;
}

struct list aggregate_varying(struct aggregate *g)
{
    size_t n, n_varying = 0;
    const char **names = list_names(g, &n);
    const char **varying = arena_alloc(g->arena, n * sizeof *varying);

    for (size_t i = 0; i < n; i++)
        if (varies(g, names[i]))
            varying[n_varying++] = names[i];
    free(names);
    return (struct list){ varying, n_varying };
}

/* ---- what is good ---- */

enum goal goal_of(const char *metric)
{
    static const char *const small[] = { "loss",   "err",     "perplexity", "ppl",  "rmse",
                                         "mse",    "mae",     "nll",        "cost", "regret",
                                         "bits",   "latency", "time",       "secs", "seconds",
                                         "memory", "distance" };

    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        if (strcasestr(metric, small[i]) != NULL)
            return GOAL_MIN;
    return GOAL_MAX;
}

int aggregate_main_metric(const struct aggregate *g)
{
    static const char *const usual[] = { "accuracy", "loss" };

    if (g->n_metrics == 1)
        return 0;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        for (size_t k = 0; k < g->n_metrics; k++)
            if (strcmp(g->metrics[k], usual[i]) == 0)
                return (int)k;
    return -1;
}

/* Whether x comes before y; a mean that is no number comes last. */
static bool is_better(const struct measure *x, const struct measure *y, enum goal goal)
{
    bool x_counts = x != NULL && !isnan(x->last.mean), y_counts = y != NULL && !isnan(y->last.mean);

    if (!x_counts || !y_counts)
        return x_counts && !y_counts;
    return goal == GOAL_MIN ? x->last.mean < y->last.mean : x->last.mean > y->last.mean;
}

int64_t aggregate_best(const struct aggregate *g, size_t metric)
{
    enum goal goal = aggregate_goal(g, metric);
    const struct measure *best = NULL;
    int64_t index = -1;

    for (size_t i = 0; i < g->n; i++) {
        const struct measure *m = aggregate_measure(&g->configs[i], metric);

        if (is_better(m, best, goal)) {
            best = m;
            index = (int64_t)i;
        }
    }
    return index;
}

/* Sorts by merging, which keeps the order of equals as qsort does not. */
static void sort_configs(struct config_result *items, struct config_result *spare, size_t n,
                         size_t metric, enum goal goal)
{
    size_t middle = n / 2, i = 0, k = middle;

    if (n < 2)
        return;
    sort_configs(items, spare, middle, metric, goal);
    sort_configs(items + middle, spare, n - middle, metric, goal);
    memcpy(spare, items, n * sizeof *items);
    for (size_t at = 0; at < n; at++) {
        bool takes_later =
            i == middle || (k < n && is_better(aggregate_measure(&spare[k], metric),
                                               aggregate_measure(&spare[i], metric), goal));

        items[at] = takes_later ? spare[k++] : spare[i++];
    }
}

void aggregate_sort(struct aggregate *g, size_t metric)
{
    struct config_result *spare = mem_resize(NULL, g->n, sizeof *spare);

    sort_configs(g->configs, spare, g->n, metric, aggregate_goal(g, metric));
    free(spare);
    make_slots(g);
}

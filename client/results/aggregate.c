/* SPDX-License-Identifier: MIT */
/* aggregate.c - statistics of measures over the replications of each configuration */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/results/aggregate.h"
#include "common/base/mem.h"
#include "common/data/json.h"
#include "common/data/param_digest.h"
#include "common/data/schema.h"
#include "common/proto/goal.h"

/* ---- statistics ---- */

int stats_compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
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
    double mean = 0, sum_of_squares = 0;

    *s = (struct stats){ (int64_t)n, none, none, none, none, none, none, none };
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return;
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, stats_compare);
    /* Welford's method has no large sums, so that nothing cancels. */
    for (size_t i = 0; i < n; i++) {
        double distance = values[i] - mean;

        mean += distance / (double)(i + 1);
        sum_of_squares += distance * (values[i] - mean);
    }
    s->mean = mean;
    if (n > 1)
        s->std = sqrt(sum_of_squares / (double)(n - 1));
    s->min = values[0];
    s->q1 = quantile(values, n, 0.25);
    s->median = quantile(values, n, 0.5);
    s->q3 = quantile(values, n, 0.75);
    s->max = values[n - 1];
}

/* ---- collecting ---- */

void aggregate_init(struct aggregate *g)
{
    *g =
        (struct aggregate){ .arena = arena_create(), .by_name = hash_table_create(UINT32_MAX - 1) };
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
    hash_table_destroy(g->by_name);
    arena_destroy(g->arena);
    *g = (struct aggregate){ 0 };
}

static struct config_result *find_config(struct aggregate *g, const struct job_result *r)
{
    struct digest d;
    uint32_t i = (uint32_t)g->n;

    digest_of(r->param_name, strlen(r->param_name), &d);
    if (!hash_table_add(g->by_name, &d, i)) {
        hash_table_find(g->by_name, &d, &i);
        return &g->configs[i];
    }
    mem_grow((void **)&g->configs, &g->capacity, g->n, sizeof *g->configs);
    g->configs[g->n] = (struct config_result){ .param_name = arena_strdup(g->arena, r->param_name),
                                               .params = value_copy(g->arena, &r->params),
                                               .max_rss_bytes = SCHEMA_NONE,
                                               .cpu_seconds = (double)NAN,
                                               .gpu_memory_bytes = SCHEMA_NONE,
                                               .gpu_percent = (double)NAN };
    return &g->configs[g->n++];
}

int aggregate_find_metric(const struct aggregate *g, const char *name)
{
    for (size_t i = 0; i < g->n_metrics; i++)
        if (strcmp(g->metrics[i], name) == 0)
            return (int)i;
    return -1;
}

/* Finds the measure of a configuration; adds the metric to both it and the aggregate if need be. */
static struct measure *find_measure(struct aggregate *g, struct config_result *c, const char *name)
{
    int found = aggregate_find_metric(g, name);
    size_t metric = found >= 0 ? (size_t)found : g->n_metrics, n = c->n_measures;

    if (found < 0) {
        mem_grow((void **)&g->metrics, &g->metrics_capacity, g->n_metrics, sizeof *g->metrics);
        g->metrics[g->n_metrics++] = arena_strdup(g->arena, name);
    }
    if (metric >= n) {
        c->measures = mem_resize(c->measures, metric + 1, sizeof *c->measures);
        memset(c->measures + n, 0, (metric + 1 - n) * sizeof *c->measures);
        c->n_measures = metric + 1;
    }
    return &c->measures[metric];
}

static void raise_to(int64_t *most, int64_t bytes) /* SCHEMA_NONE is below all numbers */
{
    if (bytes > *most)
        *most = bytes;
}

/* Combines *mean, the mean of *n_mean values, with the mean of n more values. */
static void add_to_mean(double *mean, int64_t *n_mean, double of_these, int64_t n)
{
    if (n == 0)
        return;
    *mean = *n_mean == 0 ? of_these
                         : (*mean * (double)*n_mean + of_these * (double)n) / (double)(*n_mean + n);
    *n_mean += n;
}

void aggregate_add(struct aggregate *g, const struct job_result *r)
{
    const enum job_state state = (enum job_state)r->state;
    const bool is_done = job_has_published(state);
    struct config_result *c = find_config(g, r);
    const struct metric *metrics = r->metrics.items;
    bool has_nan = false;

    mem_grow((void **)&c->jobs, &c->jobs_capacity, c->n_jobs, sizeof *c->jobs);
    c->jobs[c->n_jobs++] = (struct config_job){ arena_strdup(g->arena, r->job), is_done };
    c->counts.of[state]++;
    c->n_done += is_done;
    raise_to(&c->max_rss_bytes, r->max_rss_bytes);
    add_to_mean(&c->cpu_seconds, &c->n_cpu, r->cpu_seconds, !isnan(r->cpu_seconds));
    raise_to(&c->gpu_memory_bytes, r->gpu_memory_bytes);
    add_to_mean(&c->gpu_percent, &c->n_gpu, r->gpu_percent, !isnan(r->gpu_percent));
    c->n_left += !job_is_ended(state);
    if (job_look(state) == JOB_LOOKS_BAD && c->reason == NULL && r->reason != NULL)
        c->reason = arena_strdup(g->arena, r->reason);
    for (size_t i = 0; is_done && i < r->metrics.n; i++) {
        const struct metric *v = &metrics[i];
        struct measure *m = find_measure(g, c, v->name);
        /* Without a reported range the last value counts as least and largest. */
        bool has_range = !isnan(v->min) && !isnan(v->max) && v->n > 0;

        has_nan = has_nan || !isfinite(v->value);
        m->n_nan += !isfinite(v->value);
        mem_grow((void **)&m->samples, &m->capacity, m->n, sizeof *m->samples);
        m->samples[m->n++] = (struct sample){ .last = v->value,
                                              .min = has_range ? v->min : v->value,
                                              .max = has_range ? v->max : v->value };
    }
    c->n_nan += has_nan;
    if (state == JOB_FAILED || job_ended_early(state))
        aggregate_add_live(g, r->param_name, &r->metrics);
}

void aggregate_add_live(struct aggregate *g, const char *param_name, const struct list *metrics)
{
    const struct metric *items = metrics->items;
    struct config_result *c;
    struct digest d;
    uint32_t i;

    digest_of(param_name, strlen(param_name), &d);
    if (!hash_table_find(g->by_name, &d, &i))
        return;
    c = &g->configs[i];
    for (size_t k = 0; k < metrics->n; k++) {
        struct measure *m = find_measure(g, c, items[k].name);

        if (m->n_live++ == 0)
            *m = (struct measure){ .samples = m->samples,
                                   .n = m->n,
                                   .capacity = m->capacity,
                                   .n_nan = m->n_nan,
                                   .n_live = 1,
                                   .live_step = SCHEMA_NONE };
        m->live += (items[k].value - m->live) / (double)m->n_live;
        if (items[k].step > m->live_step)
            m->live_step = items[k].step;
    }
}

bool aggregate_counts(enum job_state state)
{
    return job_is_ended(state) && !job_has_published(state);
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
}

/* The parameters named in by, without those that the configuration does not have. */
static struct value chosen_params(struct arena *a, const struct value *params,
                                  const struct list *by)
{
    struct value chosen = { .type = VALUE_MAP };

    chosen.map.members = arena_alloc(a, by->n * sizeof *chosen.map.members);
    for (size_t i = 0; i < by->n; i++) {
        const char *name = ((const char *const *)by->items)[i];
        const struct value *v = value_get(params, name);

        if (v != NULL)
            chosen.map.members[chosen.map.n++] = (struct member){ value_str(name), *v };
    }
    return chosen;
}

/* Adds all that `from` has to `to`, of the same group, and frees `from`. */
static void merge_config(struct config_result *to, struct config_result *from)
{
    to->n_done += from->n_done;
    to->n_left += from->n_left;
    to->n_nan += from->n_nan;
    raise_to(&to->max_rss_bytes, from->max_rss_bytes);
    add_to_mean(&to->cpu_seconds, &to->n_cpu, from->cpu_seconds, from->n_cpu);
    raise_to(&to->gpu_memory_bytes, from->gpu_memory_bytes);
    add_to_mean(&to->gpu_percent, &to->n_gpu, from->gpu_percent, from->n_gpu);
    to->reason = to->reason != NULL ? to->reason : from->reason;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        to->counts.of[i] += from->counts.of[i];
    for (size_t i = 0; i < from->n_jobs; i++) {
        mem_grow((void **)&to->jobs, &to->jobs_capacity, to->n_jobs, sizeof *to->jobs);
        to->jobs[to->n_jobs++] = from->jobs[i];
    }
    if (to->n_measures < from->n_measures) {
        to->measures = mem_resize(to->measures, from->n_measures, sizeof *to->measures);
        memset(to->measures + to->n_measures, 0,
               (from->n_measures - to->n_measures) * sizeof *to->measures);
        to->n_measures = from->n_measures;
    }
    for (size_t k = 0; k < from->n_measures; k++) {
        const struct measure *x = &from->measures[k];
        struct measure *m = &to->measures[k];

        if (x->n_live > 0) {
            double n = (double)m->n_live, n_more = (double)x->n_live;

            m->live = m->n_live == 0 ? x->live : (m->live * n + x->live * n_more) / (n + n_more);
            m->live_step =
                m->n_live == 0 || x->live_step > m->live_step ? x->live_step : m->live_step;
            m->n_live += x->n_live;
        }
        m->n_nan += x->n_nan;
        for (size_t i = 0; i < from->measures[k].n; i++) {
            mem_grow((void **)&m->samples, &m->capacity, m->n, sizeof *m->samples);
            m->samples[m->n++] = from->measures[k].samples[i];
        }
    }
    free_config(from);
}

static bool is_number(const struct value *v)
{
    return v->type == VALUE_INT || v->type == VALUE_FLOAT;
}

static int compare_values(const struct value *x, const struct value *y)
{
    bool has_numbers = is_number(x) && is_number(y);
    struct buf a = { 0 }, b = { 0 };
    int order;

    if (has_numbers) {
        double p = x->type == VALUE_INT ? (double)x->i : x->f;
        double q = y->type == VALUE_INT ? (double)y->i : y->f;

        return (p > q) - (p < q);
    }
    json_add_text(&a, x);
    json_add_text(&b, y);
    order = strcmp(buf_text(&a), buf_text(&b));
    buf_free(&a);
    buf_free(&b);
    return order;
}

/* Orders groups by the values of their parameters; groups that lack one come first. */
static int compare_groups(const void *x, const void *y)
{
    const struct value *a = &((const struct config_result *)x)->params;
    const struct value *b = &((const struct config_result *)y)->params;

    for (size_t i = 0; i < a->map.n && i < b->map.n; i++) {
        int order = strcmp(a->map.members[i].key.str.s, b->map.members[i].key.str.s);

        if (order == 0)
            order = compare_values(&a->map.members[i].value, &b->map.members[i].value);
        if (order != 0)
            return order;
    }
    return (a->map.n > b->map.n) - (a->map.n < b->map.n);
}

void aggregate_group(struct aggregate *g, const struct list *by)
{
    struct hash_table *groups = hash_table_create(UINT32_MAX - 1);
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++) {
        struct config_result *c = &g->configs[i];
        struct buf name = { 0 };
        struct digest d;
        uint32_t group = (uint32_t)n;

        c->params = chosen_params(g->arena, &c->params, by);
        param_digest(&c->params, &d);
        if (!hash_table_add(groups, &d, group)) {
            hash_table_find(groups, &d, &group);
            merge_config(&g->configs[group], c);
            continue;
        }
        jobinfo_add_params(&name, &c->params);
        c->param_name = arena_strdup(g->arena, name.n > 0 ? buf_text(&name) : "without it");
        buf_free(&name);
        g->configs[n++] = *c;
    }
    g->n = n;
    qsort(g->configs, g->n, sizeof *g->configs, compare_groups);
    hash_table_destroy(groups);
}

void aggregate_set_goal(struct aggregate *g, const char *metric, enum goal goal)
{
    g->goal_metric = metric == NULL ? NULL : arena_strdup(g->arena, metric);
    g->goal = goal;
}

bool aggregate_goal_is_known(const struct aggregate *g, size_t metric)
{
    return (g->goal_metric != NULL && strcmp(g->goal_metric, g->metrics[metric]) == 0) ||
           goal_guess(g->metrics[metric]) < GOAL_COUNT;
}

enum goal aggregate_goal(const struct aggregate *g, size_t metric)
{
    enum goal guess;

    if (g->goal_metric != NULL && strcmp(g->goal_metric, g->metrics[metric]) == 0)
        return g->goal;
    guess = goal_guess(g->metrics[metric]);
    return guess < GOAL_COUNT ? guess : GOAL_MAX;
}

void aggregate_finish(struct aggregate *g)
{
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->configs[i].n_measures; k++) {
            struct measure *m = &g->configs[i].measures[k];
            double *values = mem_resize(NULL, m->n, sizeof *values);
            m->goal = (int)aggregate_goal(g, k);

            for (size_t j = 0; j < m->n; j++)
                values[j] = m->samples[j].last;
            stats_of(&m->last, values, m->n);
            for (size_t j = 0; j < m->n; j++)
                values[j] = m->goal == GOAL_MIN ? m->samples[j].min : m->samples[j].max;
            stats_of(&m->best, values, m->n);
            free(values);
            if (m->n_live == 0) {
                m->live = (double)NAN;
                m->live_step = SCHEMA_NONE;
            }
        }
}

const struct measure *aggregate_live(const struct config_result *c, size_t metric)
{
    const struct measure *m = metric < c->n_measures ? &c->measures[metric] : NULL;

    return m != NULL && m->n == 0 && m->n_live > 0 ? m : NULL;
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

static struct list list_params(struct aggregate *g, bool only_varying)
{
    const char **names = NULL, **varying;
    size_t n = 0, capacity = 0, n_varying = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct value *params = &g->configs[i].params;

        for (size_t k = 0; params->type == VALUE_MAP && k < params->map.n; k++) {
            const char *name = params->map.members[k].key.str.s;
            size_t j = 0;

            while (j < n && strcmp(names[j], name) != 0)
                j++;
            if (j < n)
                continue;
            mem_grow((void **)&names, &capacity, n, sizeof *names);
            names[n++] = name;
        }
    }
    varying = arena_alloc(g->arena, n * sizeof *varying);
    for (size_t i = 0; i < n; i++)
        if (!only_varying || varies(g, names[i]))
            varying[n_varying++] = names[i];
    free(names);
    return (struct list){ varying, n_varying };
}

struct list aggregate_params(struct aggregate *g)
{
    return list_params(g, false);
}

struct list aggregate_varying(struct aggregate *g)
{
    return list_params(g, true);
}

/* ---- goals ---- */

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

/* Whether x comes before y; a mean that is NAN comes last. */
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

/* A merge sort, as qsort(3) does not keep the order of equals. */
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
}

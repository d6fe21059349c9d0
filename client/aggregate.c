/* SPDX-License-Identifier: MIT */
/* aggregate.c - what the replications of each configuration have in common */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/aggregate.h"
#include "common/mem.h"

/* Welford's way: no large sums, so that nothing cancels. */
void stats_add(struct stats *s, double value)
{
    double distance = value - s->mean;

    s->min = s->n == 0 || value < s->min ? value : s->min;
    s->max = s->n == 0 || value > s->max ? value : s->max;
    s->n++;
    s->mean += distance / (double)s->n;
    s->sum_of_squares += distance * (value - s->mean);
}

double stats_std(const struct stats *s)
{
    return s->n < 2 ? (double)NAN : sqrt(s->sum_of_squares / (double)(s->n - 1));
}

void aggregate_init(struct aggregate *g)
{
    *g = (struct aggregate){ .arena = arena_create() };
}

void aggregate_free(struct aggregate *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->configs[i].metrics);
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

static void grow_slots(struct aggregate *g)
{
    free(g->slots);
    g->n_slots = g->n_slots == 0 ? 64 : 2 * g->n_slots;
    g->slots = mem_alloc(g->n_slots * sizeof *g->slots);
    for (size_t i = 0; i < g->n; i++)
        *find_slot(g, g->configs[i].param_name) = i + 1;
}

static struct config_result *find_config(struct aggregate *g, const struct job_result *r)
{
    size_t *slot;

    if (2 * g->n >= g->n_slots)
        grow_slots(g);
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

static size_t find_metric(struct aggregate *g, const char *name)
{
    for (size_t i = 0; i < g->n_metrics; i++)
        if (strcmp(g->metrics[i], name) == 0)
            return i;
    mem_grow((void **)&g->metrics, &g->metrics_capacity, g->n_metrics, sizeof *g->metrics);
    g->metrics[g->n_metrics] = arena_strdup(g->arena, name);
    return g->n_metrics++;
}

static struct stats *make_stats(struct config_result *c, size_t metric)
{
    if (metric >= c->n_metrics) {
        c->metrics = mem_resize(c->metrics, metric + 1, sizeof *c->metrics);
        memset(c->metrics + c->n_metrics, 0, (metric + 1 - c->n_metrics) * sizeof *c->metrics);
        c->n_metrics = metric + 1;
    }
    return &c->metrics[metric];
}

void aggregate_add(struct aggregate *g, const struct job_result *r)
{
    struct config_result *c = find_config(g, r);
    const struct metric *metrics = r->metrics.items;

    if (r->state != JOB_DONE)
        return;
    c->n_jobs++;
    for (size_t i = 0; i < r->metrics.n; i++)
        stats_add(make_stats(c, find_metric(g, metrics[i].name)), metrics[i].value);
}

const struct stats *aggregate_stats(const struct config_result *c, size_t metric)
{
    return metric < c->n_metrics && c->metrics[metric].n > 0 ? &c->metrics[metric] : NULL;
}

static bool is_same(const struct value *x, const struct value *y)
{
    return (x == NULL && y == NULL) || (x != NULL && y != NULL && value_equal(x, y));
}

static bool varies(const struct aggregate *g, const char *name)
{
    for (size_t i = 1; i < g->n; i++)
        if (!is_same(value_get(&g->configs[0].params, name),
                     value_get(&g->configs[i].params, name)))
            return true;
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

static bool contains(const char *name, const char *word)
{
    size_t n = strlen(word);

    for (; *name != '\0'; name++) {
        size_t i = 0;

        while (i < n && tolower((unsigned char)name[i]) == word[i])
            i++;
        if (i == n)
            return true;
    }
    return false;
}

enum goal goal_of(const char *metric)
{
    static const char *const small[] = { "loss",   "err",     "perplexity", "ppl",  "rmse",
                                         "mse",    "mae",     "nll",        "cost", "regret",
                                         "bits",   "latency", "time",       "secs", "seconds",
                                         "memory", "distance" };

    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        if (contains(metric, small[i]))
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
static bool is_better(const struct stats *x, const struct stats *y, enum goal goal)
{
    bool x_counts = x != NULL && !isnan(x->mean), y_counts = y != NULL && !isnan(y->mean);

    if (!x_counts || !y_counts)
        return x_counts;
    return goal == GOAL_MIN ? x->mean < y->mean : x->mean > y->mean;
}

int64_t aggregate_best(const struct aggregate *g, size_t metric, enum goal goal)
{
    const struct stats *best = NULL;
    int64_t index = -1;

    for (size_t i = 0; i < g->n; i++) {
        const struct stats *s = aggregate_stats(&g->configs[i], metric);

        if (is_better(s, best, goal)) {
            best = s;
            index = (int64_t)i;
        }
    }
    return index;
}

/* Merges the sorted halves of from into to. */
static void merge(const struct config_result *from, struct config_result *to, size_t middle,
                  size_t n, size_t metric, enum goal goal)
{
    size_t i = 0, k = middle;

    for (size_t at = 0; at < n; at++) {
        bool takes_later =
            i == middle || (k < n && is_better(aggregate_stats(&from[k], metric),
                                               aggregate_stats(&from[i], metric), goal));

        to[at] = takes_later ? from[k++] : from[i++];
    }
}

/* Keeps the order of equals, which qsort does not, and needs no variable beside it. */
static void sort(struct config_result *items, struct config_result *spare, size_t n, size_t metric,
                 enum goal goal)
{
    if (n < 2)
        return;
    sort(items, spare, n / 2, metric, goal);
    sort(items + n / 2, spare, n - n / 2, metric, goal);
    memcpy(spare, items, n * sizeof *items);
    merge(spare, items, n / 2, n, metric, goal);
}

void aggregate_sort(struct aggregate *g, size_t metric, enum goal goal)
{
    struct config_result *spare = mem_resize(NULL, g->n, sizeof *spare);

    sort(g->configs, spare, g->n, metric, goal);
    free(spare);
    free(g->slots); /* they point to where configurations were */
    g->slots = NULL;
    g->n_slots = 0;
    if (g->n > 0)
        while (2 * g->n >= g->n_slots)
            grow_slots(g);
}

/* SPDX-License-Identifier: MIT */
/* published.c - reads results as they lie on the shared drive, without a server */
#include "client/results/published.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/data/json.h"
#include "common/data/yaml.h"
#include "common/proto/goal.h"
#include "common/proto/layout.h"

enum { JOB_JSON_MAX_BYTES = 16 * 1024 * 1024, SWEEP_FILE_MAX_BYTES = 4 * 1024 * 1024 };

/* Folders of a project in which attempts' files lie. */
static const struct {
    const char *name;
    enum job_state state;
} kinds[] = { { "runs", JOB_DONE }, { "stopped", JOB_STOPPED }, { "failed", JOB_FAILED } };

/* ---- finding ---- */

/* The sweep's number that is the name of a folder in sweeps/; 0: it is no number. */
static int64_t sweep_number(const char *name)
{
    char *end;
    long long number = strtoll(name, &end, 10);

    return name[0] >= '1' && name[0] <= '9' && *end == '\0' ? number : 0;
}

/* The number of the project's newest sweep of that owner (-1: of any); 0: there is none. */
static int64_t newest_sweep(const struct share_dir *fs, const char *project, int64_t owner,
                            struct arena *a)
{
    char *path = mem_printf("%s/sweeps", project);
    struct list entries = { 0 };
    int64_t newest = 0;

    if (share_list(fs, path, owner < 0 ? SHARE_NAMES : SHARE_STATS, a, &entries, NULL) == 0)
        for (size_t i = 0; i < entries.n; i++) {
            const struct share_entry *entry = &((const struct share_entry *)entries.items)[i];
            int64_t number = sweep_number(entry->name);

            if (number > newest && (owner < 0 || entry->stat.uid == owner))
                newest = number;
        }
    free(path);
    return newest;
}

static void read_ranking(struct published *p, const struct share_dir *fs, int64_t sweep,
                         struct arena *a)
{
    struct buf path = { 0 }, text = { 0 };
    const struct yaml_node *file = NULL, *results;

    layout_sweep(&path, p->project, sweep);
    buf_add_str(&path, "/sweep.yaml");
    if (share_read(fs, buf_text(&path), SWEEP_FILE_MAX_BYTES, &text, NULL) == 0)
        file = yaml_parse("sweep.yaml", buf_text(&text), text.n, a, NULL);
    results = file != NULL ? yaml_get(file, "results") : NULL;
    if (results != NULL) {
        const struct value said = yaml_value(results, a);
        const struct value *metric = value_get(&said, "metric"), *goal = value_get(&said, "goal");

        if (metric != NULL && metric->type == VALUE_STR)
            p->ranking.metric = metric->str.s;
        if (p->ranking.metric != NULL)
            p->ranking.goal = goal != NULL && goal->type == VALUE_STR
                                  ? (int)goal_parse(goal->str.s)
                                  : (int)goal_guess(p->ranking.metric);
    }
    buf_free(&text);
    buf_free(&path);
}

/* Whether the project has a folder of that sweep; *is_own: whether the user owns that folder. */
static bool has_sweep(const struct share_dir *fs, const char *project, int64_t sweep, bool *is_own)
{
    struct buf path = { 0 };
    struct share_stat st;
    bool has;

    layout_sweep(&path, project, sweep);
    has = share_stat(fs, buf_text(&path), &st, NULL) == 0;
    *is_own = has && st.uid == geteuid();
    buf_free(&path);
    return has;
}

/* Finds the project that has the sweep.  A sweep is in one project, but anybody can make a folder
 * with its number in a project of their own.  So a folder that the user owns counts before others,
 * and two that count the same are an error. */
static int find_by_number(struct published *p, const struct share_dir *fs,
                          const struct list *projects, int64_t sweep, struct err *e)
{
    const struct share_entry *items = projects->items;
    const char *other = NULL; /* a second project that counts the same */
    bool has_own = false;

    for (size_t i = 0; i < projects->n; i++) {
        bool is_own;

        if (!layout_is_project_name(items[i].name) ||
            !has_sweep(fs, items[i].name, sweep, &is_own) || is_own < has_own)
            continue;
        other = is_own == has_own ? p->project : NULL;
        p->project = items[i].name;
        has_own = is_own;
    }
    p->sweep = sweep;
    if (p->project == NULL)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, sweep);
    if (other == NULL)
        return 0;
    return err_set(e, ERR_USAGE,
                   "a sweep %" PRId64 " is in the projects %s and %s, and only the server can tell "
                   "which is the right one: name the project",
                   sweep, other, p->project);
}

int published_find(struct published *p, const struct share_dir *fs, const char *word,
                   struct arena *a, struct err *e)
{
    int64_t wanted = sweep_number(word), newest = 0;
    bool is_last = strcmp(word, "last") == 0;
    struct list projects = { 0 };

    *p = (struct published){ 0 };
    if (share_list(fs, "", SHARE_NAMES, a, &projects, e) < 0 ||
        (wanted > 0 && find_by_number(p, fs, &projects, wanted, e) < 0))
        return -1;
    for (size_t i = 0; i < projects.n && wanted == 0; i++) {
        const char *name = ((const struct share_entry *)projects.items)[i].name;
        int64_t sweep = 0;

        if (!layout_is_project_name(name))
            continue;
        if (is_last)
            sweep = newest_sweep(fs, name, (int64_t)geteuid(), a);
        else if (strcmp(name, word) == 0)
            newest = newest_sweep(fs, name, -1, a);
        if (newest > 0 || sweep > p->sweep) {
            p->project = name;
            p->sweep = sweep;
        }
        if (newest > 0)
            break;
    }
    if (p->project == NULL)
        return is_last ? err_set(e, ERR_NOT_FOUND, "there is no sweep of yours")
                       : err_set(e, ERR_NOT_FOUND, "no project '%s' has sweeps", word);
    read_ranking(p, fs, newest > 0 ? newest : p->sweep, a);
    return 0;
}

/* ---- reading ---- */

/* In JSON null stands for nan and infinities. */
static double number_or_nan(const struct value *v)
{
    return v == NULL                ? NAN
           : v->type == VALUE_INT   ? (double)v->i
           : v->type == VALUE_FLOAT ? v->f
                                    : NAN;
}

static int64_t int_or_none(const struct value *v)
{
    return v != NULL && v->type == VALUE_INT ? v->i : SCHEMA_NONE;
}

static const char *text_of(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v != NULL && v->type == VALUE_STR ? v->str.s : NULL;
}

static struct list metrics_of(const struct value *record, struct arena *a)
{
    const struct value *values = value_get(record, "metrics");
    const struct value *ranges = value_get(record, "metric_ranges");
    struct metric *items;
    size_t n = values != NULL && values->type == VALUE_MAP ? values->map.n : 0;

    items = arena_alloc(a, n * sizeof *items);
    for (size_t i = 0; i < n; i++) {
        const struct member *m = &values->map.members[i];
        const struct value *range =
            ranges != NULL && ranges->type == VALUE_MAP ? value_get(ranges, m->key.str.s) : NULL;
        bool has = range != NULL && range->type == VALUE_MAP;

        items[i] =
            (struct metric){ .name = m->key.str.s,
                             .value = number_or_nan(&m->value),
                             .step = has ? int_or_none(value_get(range, "step")) : SCHEMA_NONE,
                             .min = has ? number_or_nan(value_get(range, "min")) : NAN,
                             .max = has ? number_or_nan(value_get(range, "max")) : NAN,
                             .n = has ? int_or_none(value_get(range, "n")) : SCHEMA_NONE };
    }
    return (struct list){ items, n };
}

struct reading {
    const struct published *of;
    const struct share_dir *fs;
    results_fn take;
    void *context;
    struct arena *arena; /* holds one configuration */
    enum job_state state;
    const char *folder; /* the configuration's */
};

static int give_job(const struct reading *r, const char *attempt, struct bytes content,
                    struct err *e)
{
    struct job_result job = { .state = (int)r->state,
                              .max_rss_bytes = SCHEMA_NONE,
                              .cpu_seconds = (double)NAN,
                              .gpu_memory_bytes = SCHEMA_NONE,
                              .gpu_percent = (double)NAN };
    const struct value *params, *sweep;
    struct value record;

    if (json_read((const char *)content.data, content.n, r->arena, &record, NULL) < 0 ||
        record.type != VALUE_MAP)
        return 0;
    params = value_get(&record, "params");
    sweep = value_get(&record, "sweep");
    job.job = text_of(&record, "job");
    job.param_name = text_of(&record, "param_name");
    if (job.job == NULL || job.param_name == NULL || params == NULL || params->type != VALUE_MAP ||
        (r->of->sweep != 0 && (sweep == NULL || int_or_none(sweep) != r->of->sweep)))
        return 0;
    job.params = *params;
    job.rep = int_or_none(value_get(&record, "rep"));
    job.metrics = metrics_of(&record, r->arena);
    job.reason = r->state == JOB_FAILED ? text_of(&record, "reason") : NULL;
    if (number_or_nan(value_get(&record, "max_rss_bytes")) > 0) { /* 0: nothing was measured */
        job.max_rss_bytes = int_or_none(value_get(&record, "max_rss_bytes"));
        job.cpu_seconds = number_or_nan(value_get(&record, "cpu_seconds"));
    }
    job.gpu_memory_bytes = int_or_none(value_get(&record, "gpu_memory_bytes"));
    job.gpu_percent = number_or_nan(value_get(&record, "gpu_percent"));
    if (r->state == JOB_DONE)
        job.run_path = arena_printf(r->arena, "%s/%s", r->folder, attempt);
    return r->take(r->context, &job, 1, e);
}

/* Whether a later attempt's folder follows: JOBNAME.a2 behind JOBNAME.a1. */
static bool is_tried_again(const struct share_entry *attempt, const struct share_entry *end)
{
    const char *number = strrchr(attempt->name, '.');

    return number != NULL && attempt + 1 < end &&
           strncmp(attempt[0].name, attempt[1].name, (size_t)(number - attempt->name) + 2) == 0;
}

static int read_config(struct reading *r, struct err *e)
{
    const struct share_entry *at, *end;
    struct list attempts = { 0 };
    int result = 0;

    if (share_list(r->fs, r->folder, SHARE_STATS, r->arena, &attempts, NULL) < 0)
        return 0;
    at = attempts.items;
    end = at + attempts.n;
    for (; at < end && result == 0; at++) {
        char *path = mem_printf("%s/%s/%s", r->folder, at->name, LAYOUT_JOB_JSON);
        struct buf text = { 0 };

        if (at->stat.type == SHARE_FOLDER && at->name[0] != '.' && !is_tried_again(at, end) &&
            share_read(r->fs, path, JOB_JSON_MAX_BYTES, &text, NULL) == 0)
            result = give_job(r, at->name, buf_bytes(&text), e);
        buf_free(&text);
        free(path);
    }
    return result;
}

int published_results(const struct published *p, const struct share_dir *fs, results_fn take,
                      void *context, struct err *e)
{
    struct arena *names = arena_create(), *a = arena_create();
    struct reading r = { .of = p, .fs = fs, .take = take, .context = context, .arena = a };
    int result = 0;

    for (size_t k = 0; result == 0 && k < sizeof kinds / sizeof kinds[0]; k++) {
        char *folder = mem_printf("%s/%s", p->project, kinds[k].name);
        struct list configs = { 0 };
        struct err why = { 0 };

        r.state = kinds[k].state;
        if (share_list(fs, folder, SHARE_STATS, names, &configs, &why) < 0 &&
            why.kind != ERR_NOT_FOUND)
            result = err_set(e, why.kind, "%s", why.text);
        for (size_t i = 0; result == 0 && i < configs.n; i++) {
            r.folder = arena_printf(a, "%s/%s", folder,
                                    ((const struct share_entry *)configs.items)[i].name);
            result = read_config(&r, e);
            arena_reset(a);
        }
        free(folder);
    }
    arena_destroy(a);
    arena_destroy(names);
    return result;
}

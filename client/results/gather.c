/* SPDX-License-Identifier: MIT */
/* gather.c - gathers all that is known of a sweep's results, for commands that show it whole */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/live.h"
#include "client/query/pages.h"
#include "client/results/gather.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "common/base/hash_table.h"
#include "common/base/units.h"

/* Progress is shown only after this time. */
enum { QUIET_MS = 500 };
enum { AHEAD = 64 /* jobs whose files are asked for before they are read */ };

/* ---- jobs ---- */

static const char *kept(struct gathered *g, const char *text)
{
    return text == NULL ? NULL : arena_strdup(g->arena, text);
}

void gather_job(struct gathered *g, const struct job_result *job)
{
    mem_grow((void **)&g->jobs, &g->jobs_capacity, g->n_jobs, sizeof *g->jobs);
    g->jobs[g->n_jobs++] = (struct gathered_job){
        .result = { .job = kept(g, job->job),
                    .param_name = kept(g, job->param_name),
                    .rep = job->rep,
                    .state = job->state,
                    .run_path = kept(g, job->run_path),
                    .reason = kept(g, job->reason),
                    .metrics_path = kept(g, job->metrics_path) },
    };
}

static void digest_text(const char *text, struct digest *d)
{
    digest_of(text, strlen(text), d);
}

/* Finds each job's configuration, and drops jobs of configurations that were left out. */
static void find_configs(struct gathered *g)
{
    struct hash_table *by_name = hash_table_create(SIZE_MAX);
    size_t n = 0;

    for (size_t i = 0; i < g->aggregate->n; i++) {
        struct digest d;

        digest_text(g->aggregate->configs[i].param_name, &d);
        hash_table_add(by_name, &d, (uint32_t)i);
    }
    for (size_t i = 0; i < g->n_jobs; i++) {
        struct gathered_job job = g->jobs[i];
        struct digest d;
        uint32_t config;

        digest_text(job.result.param_name, &d);
        if (!hash_table_find(by_name, &d, &config))
            continue;
        job.config = config;
        g->jobs[n++] = job;
    }
    g->n_jobs = n;
    hash_table_destroy(by_name);
}

struct times {
    struct gathered *gathered;
    struct hash_table *by_job;
};

static int take_times(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct times *t = context;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        struct gathered_job *job;
        struct digest d;
        uint32_t at;

        digest_text(jobs[i].job, &d);
        if (!hash_table_find(t->by_job, &d, &at))
            continue;
        job = &t->gathered->jobs[at];
        job->node = kept(t->gathered, jobs[i].node);
        job->gpu_ids = kept(t->gathered, jobs[i].gpu_ids);
        job->resumed = kept(t->gathered, jobs[i].resumed);
        if (job->result.state == JOB_STOPPED)
            job->result.reason = kept(t->gathered, jobs[i].reason);
        job->started_at = jobs[i].started_at;
        job->ended_at = jobs[i].ended_at;
        if (t->gathered->triage != NULL)
            triage_add(t->gathered->triage, &jobs[i]);
    }
    return 0;
}

static int learn_times(struct gathered *g, struct rpc *rpc, struct err *e)
{
    const struct sweep_info *sweeps = g->sweeps.items;
    struct times t = { g, hash_table_create(SIZE_MAX) };
    int result = 0;

    for (size_t i = 0; i < g->n_jobs; i++) {
        struct digest d;

        digest_text(g->jobs[i].result.job, &d);
        hash_table_add(t.by_job, &d, (uint32_t)i);
    }
    for (size_t i = 0; i < g->sweeps.n && result == 0; i++) {
        struct target whole = { .sweep = sweeps[i].sweep };
        const struct list targets = { &whole, 1 };
        const struct job_filter all = { .is_quiet = true };

        result = pages_jobs(rpc, &targets, &all, take_times, &t, e);
    }
    hash_table_destroy(t.by_job);
    return result;
}

/* ---- a sweep ---- */

/* Reads a sweep's results, and notes the files of jobs that have reported but have no result. */
struct reading {
    struct gathered *gathered;
    struct live *live;
    const char **live_configs;
    size_t n_live;
};

static int take_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    struct reading *r = context;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        aggregate_add(r->gathered->aggregate, &results[i]);
        gather_job(r->gathered, &results[i]);
        if (results[i].metrics_path == NULL || results[i].metrics.n > 0 ||
            !r->gathered->wants_live || r->n_live == LIVE_MAX)
            continue;
        r->live[r->n_live].path = kept(r->gathered, results[i].metrics_path);
        r->live_configs[r->n_live++] = kept(r->gathered, results[i].param_name);
    }
    return 0;
}

/* Adds what running jobs have reported, if the drive can be read. */
static void add_live(struct reading *r, struct session *session)
{
    struct share_dir *fs = r->n_live > 0 ? session_open_drive(session, NULL) : NULL;

    if (fs == NULL)
        return;
    live_read(fs, r->live, r->n_live, r->gathered->arena);
    for (size_t i = 0; i < r->n_live; i++)
        aggregate_add_live(r->gathered->aggregate, r->live_configs[i], &r->live[i].metrics);
    share_close(fs);
}

int gather_sweep(struct gathered *g, struct session *session, int64_t sweep,
                 const struct measures_said *said, struct err *e)
{
    struct reading r = { .gathered = g,
                         .live = arena_alloc(g->arena, LIVE_MAX * sizeof *r.live),
                         .live_configs = arena_alloc(g->arena, LIVE_MAX * sizeof *r.live_configs) };
    struct sweep_info info, *own;

    if (pages_sweep(&session->rpc, sweep, &info, e) < 0)
        return -1;
    own = schema_copy(&sweep_info_schema, &info, g->arena);
    g->sweeps = (struct list){ own, 1 };
    if (pages_results(&session->rpc, sweep, take_results, &r, e) < 0)
        return -1;
    add_live(&r, session);
    if (measures_rank(g->aggregate, said, &own->ranking, g->arena, &g->ranked_by, e) < 0)
        return -1;
    aggregate_finish(g->aggregate);
    return 0;
}

/* ---- series ---- */

/* Indices of the *n jobs that may have a series, by configuration; the caller frees them. */
static size_t *order_jobs(const struct gathered *g, size_t *n)
{
    size_t *begins = mem_alloc((g->aggregate->n + 2) * sizeof *begins);
    size_t *order = mem_alloc((g->n_jobs + 1) * sizeof *order);

    *n = 0;
    for (size_t i = 0; i < g->n_jobs; i++)
        begins[g->jobs[i].config + 1]++;
    for (size_t i = 1; i <= g->aggregate->n; i++)
        begins[i] += begins[i - 1];
    for (size_t i = 0; i < g->n_jobs; i++)
        order[begins[g->jobs[i].config]++] = i;
    for (size_t i = 0; i < g->n_jobs; i++) {
        const struct job_result *r = &g->jobs[order[i]].result;

        if (r->run_path != NULL || r->metrics_path != NULL)
            order[(*n)++] = order[i];
    }
    free(begins);
    return order;
}

/* Chooses the measures whose series are read: first the ranking one, then others. */
static size_t choose_metrics(const struct gathered *g, size_t chosen[GATHER_SERIES_METRICS_MAX])
{
    size_t n = 0;

    if (g->ranked_by >= 0)
        chosen[n++] = (size_t)g->ranked_by;
    for (size_t i = 0; i < g->aggregate->n_metrics && n < GATHER_SERIES_METRICS_MAX; i++)
        if ((int)i != g->ranked_by)
            chosen[n++] = i;
    return n;
}

static void add_note(struct gathered *g, const char *note)
{
    const char **notes = arena_alloc(g->arena, (g->notes.n + 1) * sizeof *notes);

    if (g->notes.n > 0)
        memcpy(notes, g->notes.items, g->notes.n * sizeof *notes);
    notes[g->notes.n++] = note;
    g->notes.items = notes;
}

static void show_progress(struct status_line *line, size_t i, size_t n)
{
    struct buf text = { 0 };

    if (!status_line_is_due(line, units_monotonic_ms()))
        return;
    buf_printf(&text, "reading series: %zu of %zu jobs", i, n);
    status_line_show(line, &text);
}

static void read_series(struct gathered *g, struct share_dir *fs)
{
    const char *names[GATHER_SERIES_METRICS_MAX];
    size_t chosen[GATHER_SERIES_METRICS_MAX], n_metrics = choose_metrics(g, chosen), n, n_ahead = 0;
    size_t *order = order_jobs(g, &n), n_read = n < GATHER_SERIES_MAX ? n : GATHER_SERIES_MAX;
    struct status_line line = { .shown_at_ms = units_monotonic_ms() + QUIET_MS };

    for (size_t i = 0; i < n_metrics; i++)
        names[i] = g->aggregate->metrics[chosen[i]];
    curves_init(&g->curves, n_read * n_metrics);
    for (size_t i = 0; i < n_read; i++) {
        for (; n_ahead < n_read && n_ahead < i + AHEAD; n_ahead++)
            series_ahead(fs, &g->jobs[order[n_ahead]].result, names, n_metrics);
        curves_read(&g->curves, order[i], fs, &g->jobs[order[i]].result, names, n_metrics);
        if (!g->is_quiet)
            show_progress(&line, i, n_read);
    }
    status_line_clear(&line);
    for (size_t i = 0; i < g->curves.n; i++)
        g->curves.items[i].metric = chosen[g->curves.items[i].metric];
    if (n_read < n)
        add_note(g, arena_printf(g->arena,
                                 "Curves are of the first %zu of %zu jobs; with --where or --top "
                                 "of those that you choose.",
                                 n_read, n));
    free(order);
}

/* ---- nodes ---- */

/* Learns of nodes, without whose jobs run there, as what is gathered may be passed on to others. */
static int learn_nodes(struct gathered *g, struct rpc *rpc, struct err *e)
{
    const struct msg_get_nodes request = { .limit = PAGE_MAX };
    struct msg_node_page page, *own;

    if (rpc_call(rpc, MSG_GET_NODES, &request, &page, e) < 0)
        return -1;
    own = schema_copy(proto.messages[MSG_NODE_PAGE].schema, &page, g->arena);
    for (size_t i = 0; i < own->nodes.n; i++) {
        struct node_info *node = (struct node_info *)own->nodes.items + i;

        node->user = NULL;
        node->jobs = node->users = node->holds = (struct list){ 0 };
    }
    for (size_t i = 0; i < own->pools.n; i++)
        ((struct pool_trouble *)own->pools.items + i)->user = NULL;
    for (size_t i = 0; i < own->pilots.n; i++)
        ((struct pilots_waiting *)own->pilots.items + i)->user = NULL;
    g->nodes = own;
    return 0;
}

int gather_learn(struct gathered *g, struct session *session, struct err *e)
{
    struct share_dir *fs;
    struct err why = { 0 };

    find_configs(g);
    g->triage = g->wants_triage ? triage_create() : NULL;
    if (learn_times(g, &session->rpc, e) < 0 ||
        (g->wants_nodes && learn_nodes(g, &session->rpc, e) < 0))
        return -1;
    if (g->triage != NULL)
        g->causes = triage_judge(g->triage);
    if (g->n_jobs == 0 || g->aggregate->n_metrics == 0)
        return 0;
    fs = session_open_drive(session, &why);
    if (fs == NULL) {
        if (!g->is_quiet)
            output_note("note: without curves: %s", why.text);
        add_note(g, "Curves are missing, as the shared drive could not be read.");
        return 0;
    }
    read_series(g, fs);
    share_close(fs);
    return 0;
}

/* ---- means over replications ---- */

static int compare_steps(const void *x, const void *y)
{
    const struct curve_point *a = x, *b = y;

    return (a->step > b->step) - (a->step < b->step);
}

/* The points of all jobs of the configuration, sorted by step; the caller frees them. */
static struct curve_point *collect_points(const struct gathered *g, size_t config, size_t metric,
                                          size_t *n)
{
    struct curve_point *points = NULL;
    size_t capacity = 0;

    *n = 0;
    for (size_t i = 0; i < g->curves.n; i++) {
        const struct curve *c = &g->curves.items[i];

        if (c->metric != metric || g->jobs[c->job].config != config)
            continue;
        for (size_t k = 0; k < c->n; k++) {
            mem_grow((void **)&points, &capacity, *n, sizeof *points);
            points[*n] = c->points[k];
            if (isnan(points[*n].step))
                points[*n].step = (double)k;
            ++*n;
        }
    }
    if (*n > 1)
        qsort(points, *n, sizeof *points, compare_steps);
    return points;
}

struct list gather_mean_curve(const struct gathered *g, size_t config, size_t metric,
                              struct arena *a)
{
    size_t n, n_means = 0;
    struct curve_point *points = collect_points(g, config, metric, &n);
    struct mean_point *means = arena_alloc(a, (n + 1) * sizeof *means);

    for (size_t i = 0; i < n;) {
        struct mean_point *m = &means[n_means++];
        double squares = 0;

        *m = (struct mean_point){ .step = points[i].step };
        for (; i < n && points[i].step <= m->step; i++) {
            double away = points[i].value - m->mean;

            m->mean += away / (double)++m->n;
            squares += away * (points[i].value - m->mean);
        }
        m->std = m->n > 1 ? sqrt(squares / (double)(m->n - 1)) : 0;
    }
    free(points);
    return (struct list){ means, n_means };
}

void gather_free(struct gathered *g)
{
    curves_free(&g->curves);
    triage_destroy(g->triage);
    free(g->jobs);
    *g = (struct gathered){ 0 };
}

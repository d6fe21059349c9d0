/* SPDX-License-Identifier: MIT */
/* ranked.c - the configurations of a sweep, best first */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/pages.h"
#include "client/results/ranked.h"
#include "common/base/mem.h"

static int take_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    (void)e;
    for (size_t i = 0; i < n; i++)
        aggregate_add(context, &results[i]);
    return 0;
}

int ranked_read(struct rpc *rpc, int64_t sweep, const struct measures_said *said, struct arena *a,
                struct aggregate *g, int *ranked_by, struct err *e)
{
    struct sweep_info info;
    struct ranking ranking;
    const struct measure *best;

    if (pages_sweep(rpc, sweep, &info, e) < 0)
        return -1;
    ranking = info.ranking;
    if (ranking.metric != NULL)
        ranking.metric = arena_strdup(a, ranking.metric);
    if (pages_results(rpc, sweep, take_results, g, e) < 0)
        return -1;
    if (g->n_metrics == 0)
        return err_set(
            e, ERR_FAILED,
            "sweep %" PRId64 ": no job has reported a measure yet (see ludwig help report)", sweep);
    if (measures_rank(g, said, &ranking, a, ranked_by, e) < 0)
        return -1;
    if (*ranked_by < 0)
        return err_set(e, ERR_USAGE,
                       "sweep %" PRId64
                       ": the best by which measure? (--sort names it; `ludwig results "
                       "%" PRId64 "` shows those there are)",
                       sweep, sweep);
    aggregate_finish(g);
    aggregate_sort(g, (size_t)*ranked_by);
    best = aggregate_measure(&g->configs[0], (size_t)*ranked_by);
    if (best == NULL || isnan(best->last.mean))
        return err_set(e, ERR_FAILED, "sweep %" PRId64 ": no configuration has a finite mean of %s",
                       sweep, g->metrics[*ranked_by]);
    return 0;
}

/* Whether --where matches the configuration: its parameters, means, and numbers of jobs by
 * outcome. */
static bool matches_config(const struct aggregate *g, const struct config_result *c,
                           struct where *where)
{
    struct member *fields = mem_resize(NULL, 4 + JOB_STATE_COUNT + g->n_metrics, sizeof *fields);
    struct where_row row = { .fields = fields, .params = &c->params };
    bool result;

    fields[row.n_fields++] = value_member("param_name", value_str(c->param_name));
    fields[row.n_fields++] = value_member("n", value_int(c->n_done));
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (aggregate_counts((enum job_state)i))
            fields[row.n_fields++] = value_member(job_state_names[i], value_int(c->counts.of[i]));
    fields[row.n_fields++] = value_member("left", value_int(c->n_left));
    fields[row.n_fields++] =
        value_member("reason", c->reason != NULL ? value_str(c->reason) : value_null());
    for (size_t i = 0; i < g->n_metrics; i++) {
        const struct measure *m = aggregate_measure(c, i);
        bool has_mean = m != NULL && !isnan(m->last.mean);

        fields[row.n_fields++] =
            value_member(g->metrics[i], has_mean ? value_float(m->last.mean) : value_null());
    }
    result = where_matches(where, &row);
    free(fields);
    return result;
}

bool ranked_is_of_jobs(const struct where *where)
{
    static const char *const words[] = { "job", "rep", "state" };
    const char *name;

    for (size_t i = 0; (name = where_name(where, i)) != NULL; i++)
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            if (strcmp(name, words[k]) == 0)
                return true;
    return false;
}

bool ranked_matches_job(struct where *where, const struct job_result *job)
{
    const struct metric *metrics = job->metrics.items;
    struct member *fields = mem_resize(NULL, 5 + job->metrics.n, sizeof *fields);
    struct where_row row = { .fields = fields, .params = &job->params };
    bool result;

    fields[row.n_fields++] = value_member("job", value_str(job->job));
    fields[row.n_fields++] = value_member("param_name", value_str(job->param_name));
    fields[row.n_fields++] = value_member("rep", value_int(job->rep));
    fields[row.n_fields++] = value_member("state", value_str(job_state_names[job->state]));
    fields[row.n_fields++] =
        value_member("reason", job->reason != NULL ? value_str(job->reason) : value_null());
    for (size_t i = 0; i < job->metrics.n; i++)
        fields[row.n_fields++] =
            value_member(metrics[i].name,
                         isfinite(metrics[i].value) ? value_float(metrics[i].value) : value_null());
    result = where_matches(where, &row);
    free(fields);
    return result;
}

int ranked_leave_out(struct aggregate *g, struct where *where, struct err *e)
{
    bool *keep = mem_resize(NULL, g->n, sizeof *keep);

    for (size_t i = 0; i < g->n; i++)
        keep[i] = matches_config(g, &g->configs[i], where);
    aggregate_keep(g, keep);
    free(keep);
    return where_check_names(where, e);
}

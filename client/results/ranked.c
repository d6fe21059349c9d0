/* SPDX-License-Identifier: MIT */
/* ranked.c - the configurations of a sweep, best first */
#include <inttypes.h>
#include <math.h>

#include "client/query/pages.h"
#include "client/results/ranked.h"

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

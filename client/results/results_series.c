/* SPDX-License-Identifier: MIT */
/* results_series.c - every value that each job of a sweep reported of a measure: results --series */
#include <math.h>
#include <stdlib.h>

#include "client/query/pages.h"
#include "client/results/results_measures.h"
#include "client/results/results_series.h"
#include "client/results/series_out.h"

enum { AHEAD = 64 }; /* files of so many jobs are on their way while one is read */

/* The second pass. */
struct writing {
    struct where *where;
    struct series_out *out;
};

static int add_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    (void)e;
    for (size_t i = 0; i < n; i++)
        aggregate_add(context, &results[i]);
    return 0;
}

static bool matches(struct where *where, const struct job_result *result)
{
    const struct metric *metrics = result->metrics.items;
    struct member *fields = mem_resize(NULL, 3 + result->metrics.n, sizeof *fields);
    struct where_row row = { .fields = fields, .params = &result->params };
    bool matched;

    fields[row.n_fields++] = value_member("job", value_str(result->job));
    fields[row.n_fields++] = value_member("param_name", value_str(result->param_name));
    fields[row.n_fields++] = value_member("rep", value_int(result->rep));
    for (size_t i = 0; i < result->metrics.n; i++)
        fields[row.n_fields++] =
            value_member(metrics[i].name,
                         isfinite(metrics[i].value) ? value_float(metrics[i].value) : value_null());
    matched = where_matches(where, &row);
    free(fields);
    return matched;
}

static bool is_wanted(const struct writing *w, const struct job_result *result)
{
    return w->where == NULL || matches(w->where, result);
}

static int write_page(void *context, const struct job_result *results, size_t n, struct err *e)
{
    const struct writing *w = context;
    size_t n_ahead = 0;

    for (size_t i = 0; i < n; i++) {
        for (; n_ahead < n && n_ahead < i + AHEAD; n_ahead++)
            if (is_wanted(w, &results[n_ahead]))
                series_out_ahead(w->out, &results[n_ahead]);
        if (is_wanted(w, &results[i]) && series_out_add(w->out, &results[i], e) < 0)
            return -1;
    }
    return 0;
}

static int write_all(struct session *session, int64_t sweep, const struct results_series *s,
                     struct aggregate *g, struct sharefs *fs, struct err *e)
{
    struct list varying = aggregate_varying(g);
    struct writing w = { s->where, series_out_begin(fs, s->metric, &varying, s->json) };
    int result = pages_results(&session->rpc, sweep, write_page, &w, e);

    if (result == 0 && s->where != NULL)
        result = where_check_names(s->where, e);
    if (result == 0 && series_out_is_empty(w.out) && aggregate_find_metric(g, s->metric) < 0)
        result = measures_refuse(g, ERR_NOT_FOUND, "series", s->metric, e);
    if (result == 0)
        result = series_out_end(w.out, e);
    series_out_free(w.out);
    return result;
}

/* A first pass learns which parameters vary, a second one streams. */
int results_series_show(struct session *session, int64_t sweep, const struct results_series *s,
                        struct err *e)
{
    const struct share_connection *drive = session_drive(session, e);
    struct sharefs *fs = drive != NULL ? share_connection_read(drive, e) : NULL;
    struct aggregate g;
    int result;

    if (fs == NULL)
        return -1;
    aggregate_init(&g);
    result = pages_results(&session->rpc, sweep, add_results, &g, e);
    if (result == 0)
        result = write_all(session, sweep, s, &g, fs, e);
    aggregate_free(&g);
    sharefs_close(fs);
    return result;
}

/* SPDX-License-Identifier: MIT */
/* results_series.c - every value that each job of a sweep reported of a measure: results --series */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "client/query/pages.h"
#include "client/results/results_measures.h"
#include "client/results/results_series.h"
#include "client/results/series.h"
#include "client/term/csv.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"

enum {
    FLUSH_BYTES = 64 * 1024,
    AHEAD = 64 /* files of so many jobs are on their way while one is read */
};

/* The series of all jobs on their way to stdout, and which jobs have none. */
struct series_out {
    struct share_dir *fs;
    const char *metric;
    const struct list *varying;
    bool json;
    struct jsonlist list;         /* of JSON */
    struct buf csv;               /* or this */
    const struct job_result *job; /* whose points come */
    int64_t n_jobs, n_missing;    /* that are done, and of these without a series */
    char *missing;                /* the first one, and why */
    bool has_trouble;             /* a file could not be read */
};

static struct series_out *series_out_begin(struct share_dir *fs, const char *metric,
                                           const struct list *varying, bool json)
{
    struct series_out *o = mem_alloc(sizeof *o);
    const char *const *names = varying->items;

    *o = (struct series_out){ .fs = fs, .metric = metric, .varying = varying, .json = json };
    if (json) {
        jsonlist_begin(&o->list, "series");
        return o;
    }
    buf_add_str(&o->csv, "job,param_name,rep");
    for (size_t i = 0; i < varying->n; i++)
        csv_next_param(&o->csv, names[i]);
    buf_add_str(&o->csv, ",step,value\n");
    return o;
}

/* JSON has no word for what is no number. */
static struct value number_or_null(const struct value *v)
{
    return v->type == VALUE_FLOAT && !isfinite(v->f) ? value_null() : *v;
}

static int add_json(struct series_out *o, const struct series_point *point, struct err *e)
{
    const struct job_result *r = o->job;
    struct series_row row = { .job = r->job,
                              .param_name = r->param_name,
                              .rep = r->rep,
                              .params = r->params,
                              .step = number_or_null(&point->step),
                              .value = number_or_null(&point->value) };

    jsonlist_add(&o->list, &series_row_schema, &row);
    return o->list.out.n < FLUSH_BYTES ? 0 : jsonlist_flush(&o->list, e);
}

static int add_csv(struct series_out *o, const struct series_point *point, struct err *e)
{
    const char *const *names = o->varying->items;
    const struct job_result *r = o->job;
    bool has_step = point->step.type != VALUE_NULL;

    csv_add(&o->csv, r->job);
    csv_next(&o->csv, r->param_name);
    buf_printf(&o->csv, ",%" PRId64, r->rep);
    for (size_t i = 0; i < o->varying->n; i++)
        csv_next_value(&o->csv, value_get(&r->params, names[i]));
    csv_next_value(&o->csv, has_step ? &point->step : NULL);
    csv_next_value(&o->csv, &point->value);
    buf_add_char(&o->csv, '\n');
    return o->csv.n < FLUSH_BYTES ? 0 : csv_write(&o->csv, e);
}

static int add_point(void *context, const struct series_point *point, struct err *e)
{
    struct series_out *o = context;

    return o->json ? add_json(o, point, e) : add_csv(o, point, e);
}

static bool has_series(const struct job_result *r)
{
    return r->state == JOB_DONE && r->run_path != NULL;
}

static void series_out_ahead(struct series_out *o, const struct job_result *r)
{
    if (has_series(r))
        series_ahead(o->fs, r->run_path, o->metric);
}

static int series_out_add(struct series_out *o, const struct job_result *r, struct err *e)
{
    struct err why = { 0 };
    int found;

    if (!has_series(r))
        return 0;
    o->job = r;
    o->n_jobs++;
    found = series_read(o->fs, r->run_path, o->metric, add_point, o, &why);
    if (found < 0)
        return err_set(e, why.kind, "%s", why.text);
    if (found > 0)
        return 0;
    o->has_trouble = o->has_trouble || why.kind != ERR_NONE;
    if (o->n_missing++ > 0)
        return 0;
    o->missing = why.kind != ERR_NONE ? mem_printf("job %s: %s", r->job, why.text)
                                      : mem_printf("job %s has no series '%s' in %s", r->job,
                                                   o->metric, r->run_path);
    return 0;
}

static int series_out_end(struct series_out *o, struct err *e)
{
    int result = o->json ? jsonlist_end(&o->list, e) : csv_write(&o->csv, e);

    if (result == 0 && o->n_missing > 1)
        output_note("note: %s, nor ha%s %" PRId64 " other%s of the %" PRId64 " jobs that are done",
                    o->missing, o->n_missing == 2 ? "s" : "ve", o->n_missing - 1,
                    o->n_missing == 2 ? "" : "s", o->n_jobs);
    else if (result == 0 && o->n_missing == 1)
        output_note("note: %s", o->missing);
    return result;
}

/* ---- all jobs ---- */

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
                     struct aggregate *g, struct share_dir *fs, struct err *e)
{
    struct list varying = aggregate_varying(g);
    struct writing w = { s->where, series_out_begin(fs, s->metric, &varying, s->json) };
    int result = pages_results(&session->rpc, sweep, write_page, &w, e);
    /* Jobs are done, and none has such a series: nothing is written yet. */
    bool is_empty = w.out->n_jobs > 0 && w.out->n_missing == w.out->n_jobs && !w.out->has_trouble;

    if (result == 0 && s->where != NULL)
        result = where_check_names(s->where, e);
    if (result == 0 && is_empty && aggregate_find_metric(g, s->metric) < 0)
        result = measures_refuse(g, ERR_NOT_FOUND, "series", s->metric, e);
    if (result == 0)
        result = series_out_end(w.out, e);
    buf_free(&w.out->list.out);
    buf_free(&w.out->csv);
    free(w.out->missing);
    free(w.out);
    return result;
}

/* A first pass learns which parameters vary, a second one streams. */
int results_series_show(struct session *session, int64_t sweep, const struct results_series *s,
                        struct err *e)
{
    const struct share_connection *drive = session_drive(session, e);
    struct share_dir *fs = drive != NULL ? share_connection_read(drive, e) : NULL;
    struct aggregate g;
    int result;

    if (fs == NULL)
        return -1;
    aggregate_init(&g);
    result = pages_results(&session->rpc, sweep, add_results, &g, e);
    if (result == 0)
        result = write_all(session, sweep, s, &g, fs, e);
    aggregate_free(&g);
    share_close(fs);
    return result;
}

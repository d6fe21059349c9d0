/* SPDX-License-Identifier: MIT */
/* series_out.c - the series of a measure, of all jobs of a sweep, on stdout */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "client/results/series_out.h"
#include "client/term/csv.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"

enum { FLUSH_BYTES = 64 * 1024 };

struct series_out {
    struct sharefs *fs;
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

struct series_out *series_out_begin(struct sharefs *fs, const char *metric,
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

static int take(void *context, const struct series_point *point, struct err *e)
{
    struct series_out *o = context;

    return o->json ? add_json(o, point, e) : add_csv(o, point, e);
}

static void note_missing(struct series_out *o, const struct job_result *r, const struct err *why)
{
    o->has_trouble = o->has_trouble || why->kind != ERR_NONE;
    if (o->n_missing++ > 0)
        return;
    if (why->kind != ERR_NONE)
        o->missing = mem_printf("job %s: %s", r->job, why->text);
    else
        o->missing = mem_printf("job %s has no series '%s' in %s", r->job, o->metric, r->run_path);
}

static bool has_series(const struct job_result *r)
{
    return r->state == JOB_DONE && r->run_path != NULL;
}

void series_out_ahead(struct series_out *o, const struct job_result *r)
{
    if (has_series(r))
        series_ahead(o->fs, r->run_path, o->metric);
}

int series_out_add(struct series_out *o, const struct job_result *r, struct err *e)
{
    struct err why = { 0 };
    int found;

    if (!has_series(r))
        return 0;
    o->job = r;
    o->n_jobs++;
    found = series_read(o->fs, r->run_path, o->metric, take, o, &why);
    if (found < 0)
        return err_set(e, why.kind, "%s", why.text);
    if (found == 0)
        note_missing(o, r, &why);
    return 0;
}

bool series_out_is_empty(const struct series_out *o)
{
    return o->n_jobs > 0 && o->n_missing == o->n_jobs && !o->has_trouble;
}

int series_out_end(struct series_out *o, struct err *e)
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

void series_out_free(struct series_out *o)
{
    if (o == NULL)
        return;
    buf_free(&o->list.out);
    buf_free(&o->csv);
    free(o->missing);
    free(o);
}

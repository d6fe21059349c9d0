/* SPDX-License-Identifier: MIT */
/* results_out.c - the results of a sweep for other programs: JSON and CSV */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/results/results_out.h"
#include "client/term/csv.h"
#include "client/term/jsonlist.h"
#include "common/data/json.h"

enum { PIECE_BYTES = 64 * 1024 };

/* ---- JSON ---- */

/* A measure of a configuration, as JSON has it. */
struct measure_row {
    int64_t n, nan;
    double mean, std, min, q1, median, q3, max;
    int goal;
    double best_mean, best_std, best_min, best_q1, best_median, best_q3, best_max;
};

#define NUMBER(member) FIELD(struct measure_row, member, FIELD_FLOAT, FIELD_NULLABLE, 0)

static const struct field measure_fields[] = {
    FIELD(struct measure_row, n, FIELD_INT, 0, INT64_MAX),
    FIELD(struct measure_row, nan, FIELD_INT, 0, INT64_MAX),
    NUMBER(mean),
    NUMBER(std),
    NUMBER(min),
    NUMBER(q1),
    NUMBER(median),
    NUMBER(q3),
    NUMBER(max),
    FIELD_NAMED(struct measure_row, goal, 0, goal_names, GOAL_COUNT),
    NUMBER(best_mean),
    NUMBER(best_std),
    NUMBER(best_min),
    NUMBER(best_q1),
    NUMBER(best_median),
    NUMBER(best_q3),
    NUMBER(best_max),
};
const struct schema measure_schema = SCHEMA(struct measure_row, "measure", measure_fields);

/* A configuration, as JSON has it. */
struct result_row {
    const char *param_name;
    struct value params;
    int64_t n, failed, cancelled, left;
    const char *reason;
    bool best;
    struct list jobs;
    struct value metrics;
};

static const struct field result_fields[] = {
    FIELD(struct result_row, param_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct result_row, params, FIELD_VALUE, 0, 0),
    FIELD(struct result_row, n, FIELD_INT, 0, INT64_MAX),
    FIELD(struct result_row, failed, FIELD_INT, 0, INT64_MAX),
    FIELD(struct result_row, cancelled, FIELD_INT, 0, INT64_MAX),
    FIELD(struct result_row, left, FIELD_INT, 0, INT64_MAX),
    FIELD(struct result_row, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct result_row, best, FIELD_BOOL, 0, 0),
    FIELD(struct result_row, jobs, FIELD_STRS, 0, INT64_MAX),
    FIELD(struct result_row, metrics, FIELD_VALUE, 0, 0),
};
const struct schema result_schema = SCHEMA(struct result_row, "result", result_fields);

/* The struct as a map. */
static struct value value_of(const struct schema *s, const void *from, struct arena *a)
{
    struct member *members = arena_alloc(a, s->n_fields * sizeof *members);

    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];
        const void *at = (const char *)from + f->offset;

        members[i].key = value_str(f->name);
        if (f->type == FIELD_INT)
            members[i].value = value_int(*(const int64_t *)at);
        else if (f->type == FIELD_ENUM)
            members[i].value = value_str(f->names[*(const int *)at]);
        else if (isfinite(*(const double *)at))
            members[i].value = value_float(*(const double *)at);
        else
            members[i].value = value_null();
    }
    return (struct value){ .type = VALUE_MAP, .map = { members, s->n_fields } };
}

static struct value value_of_measure(const struct measure *m, enum goal goal, struct arena *a)
{
    const struct stats *last = &m->last, *best = &m->best;
    struct measure_row row = { .n = last->n,
                               .nan = m->n_nan,
                               .mean = last->mean,
                               .std = last->std,
                               .min = last->min,
                               .q1 = last->q1,
                               .median = last->median,
                               .q3 = last->q3,
                               .max = last->max,
                               .goal = (int)goal,
                               .best_mean = best->mean,
                               .best_std = best->std,
                               .best_min = best->min,
                               .best_q1 = best->q1,
                               .best_median = best->median,
                               .best_q3 = best->q3,
                               .best_max = best->max };

    return value_of(&measure_schema, &row, a);
}

static struct value value_of_measures(const struct results_view *v, const struct config_result *c,
                                      struct arena *a)
{
    struct member *members = arena_alloc(a, v->n_metrics * sizeof *members);
    size_t n = 0;

    for (size_t i = 0; i < v->n_metrics; i++) {
        const struct measure *m = aggregate_measure(c, v->metrics[i]);

        if (m == NULL)
            continue;
        members[n].key = value_str(v->aggregate->metrics[v->metrics[i]]);
        members[n++].value = value_of_measure(m, aggregate_goal(v->aggregate, v->metrics[i]), a);
    }
    return (struct value){ .type = VALUE_MAP, .map = { members, n } };
}

static void add_json_head(struct jsonlist *l, const struct results_view *v)
{
    struct value metric = value_null(), goal = value_null();

    if (v->ranked_by >= 0) {
        metric = value_str(v->aggregate->metrics[v->ranked_by]);
        goal = value_str(goal_names[aggregate_goal(v->aggregate, (size_t)v->ranked_by)]);
    }
    *l = (struct jsonlist){ 0 };
    buf_add_str(&l->out, "{\"v\":1,\"metric\":");
    json_add_value(&l->out, &metric);
    buf_add_str(&l->out, ",\"goal\":");
    json_add_value(&l->out, &goal);
    buf_add_str(&l->out, ",\"results\":[");
}

int results_write_json(const struct results_view *v, struct err *e)
{
    struct arena *a = arena_create();
    struct jsonlist l;
    int result = 0;

    add_json_head(&l, v);
    for (size_t i = 0; i < v->n && result == 0; i++) {
        const struct config_result *c = &v->aggregate->configs[i];
        struct result_row row = { .param_name = c->param_name,
                                  .params = c->params,
                                  .n = c->n_done,
                                  .failed = c->n_failed,
                                  .cancelled = c->n_cancelled,
                                  .left = c->n_left,
                                  .reason = c->reason,
                                  .best = (int64_t)i == v->best };
        const char **jobs = arena_alloc(a, c->n_jobs * sizeof *jobs);

        for (size_t k = 0; k < c->n_jobs; k++)
            jobs[k] = c->jobs[k].job;
        row.jobs = (struct list){ jobs, c->n_jobs };
        row.metrics = value_of_measures(v, c, a);
        jsonlist_add(&l, &result_schema, &row);
        arena_reset(a);
        if (l.out.n >= PIECE_BYTES)
            result = jsonlist_flush(&l, e);
    }
    arena_destroy(a);
    return result < 0 ? -1 : jsonlist_end(&l, e);
}

/* ---- CSV ---- */

/* The columns of a measure: NAME_mean and so on; the number at that place of a struct measure. */
static const struct {
    const char *suffix;
    size_t offset;
} csv_numbers[] = {
    { "mean", offsetof(struct measure, last.mean) },
    { "std", offsetof(struct measure, last.std) },
    { "min", offsetof(struct measure, last.min) },
    { "q1", offsetof(struct measure, last.q1) },
    { "median", offsetof(struct measure, last.median) },
    { "q3", offsetof(struct measure, last.q3) },
    { "max", offsetof(struct measure, last.max) },
    { "best", offsetof(struct measure, best.mean) },
    { "best_std", offsetof(struct measure, best.std) },
};

enum { N_CSV_NUMBERS = sizeof csv_numbers / sizeof csv_numbers[0] };

static void add_csv_name(struct buf *out, const char *metric, const char *suffix)
{
    char *name = mem_printf("%s_%s", metric, suffix);

    csv_next(out, name);
    free(name);
}

static void add_csv_head(struct buf *out, const struct results_view *v)
{
    const char *const *names = v->varying.items;

    csv_add(out, "param_name");
    for (size_t i = 0; i < v->varying.n; i++)
        csv_next_param(out, names[i]);
    buf_add_str(out, ",n,failed,cancelled,left,reason,jobs");
    for (size_t i = 0; i < v->n_metrics; i++) {
        const char *metric = v->aggregate->metrics[v->metrics[i]];

        add_csv_name(out, metric, "n");
        add_csv_name(out, metric, "nan");
        for (size_t k = 0; k < N_CSV_NUMBERS; k++)
            add_csv_name(out, metric, csv_numbers[k].suffix);
    }
    buf_add_char(out, '\n');
}

static void add_csv_row(struct buf *out, const struct results_view *v,
                        const struct config_result *c)
{
    const char *const *names = v->varying.items;

    csv_add(out, c->param_name);
    for (size_t i = 0; i < v->varying.n; i++)
        csv_next_value(out, value_get(&c->params, names[i]));
    buf_printf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, c->n_done, c->n_failed,
               c->n_cancelled, c->n_left);
    csv_next(out, c->reason != NULL ? c->reason : "");
    for (size_t i = 0; i < c->n_jobs; i++)
        buf_printf(out, "%c%s", i > 0 ? ' ' : ',', c->jobs[i].job);
    if (c->n_jobs == 0)
        buf_add_char(out, ',');
    for (size_t i = 0; i < v->n_metrics; i++) {
        const struct measure *m = aggregate_measure(c, v->metrics[i]);

        buf_printf(out, ",%" PRId64 ",%" PRId64, m == NULL ? 0 : m->last.n,
                   m == NULL ? 0 : m->n_nan);
        for (size_t k = 0; k < N_CSV_NUMBERS; k++) {
            double number = (double)NAN;

            if (m != NULL)
                memcpy(&number, (const char *)m + csv_numbers[k].offset, sizeof number);
            csv_next_number(out, number);
        }
    }
    buf_add_char(out, '\n');
}

int results_write_csv(const struct results_view *v, struct err *e)
{
    struct buf out = { 0 };

    add_csv_head(&out, v);
    for (size_t i = 0; i < v->n; i++) {
        add_csv_row(&out, v, &v->aggregate->configs[i]);
        if (out.n >= PIECE_BYTES && csv_write(&out, e) < 0)
            return -1;
    }
    return csv_write(&out, e);
}

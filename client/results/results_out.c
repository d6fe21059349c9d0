/* SPDX-License-Identifier: MIT */
/* results_out.c - chooses the measures of a sweep to show, and prints a table, JSON or CSV */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/results/results_out.h"
#include "client/term/csv.h"
#include "client/term/jsonlist.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/suggest.h"
#include "common/data/json.h"
#include "common/proto/goal.h"

enum {
    PIECE_BYTES = 64 * 1024,
    NAMES_MAX = 20, /* names in a message */
    NAME_COLUMNS = 24
};

/* ---- ranking ---- */

int measures_refuse(const struct aggregate *g, enum err_kind kind, const char *option,
                    const char *name, struct err *e)
{
    struct suggest nearest = { .word = name };
    struct buf others = { 0 }; /* "; there are accuracy, loss" */

    buf_add_str(&others, g->n_metrics == 0   ? "; no job has reported a measure"
                         : g->n_metrics == 1 ? "; there is "
                                             : "; there are ");
    for (size_t i = 0; i < g->n_metrics; i++) {
        suggest_try(&nearest, g->metrics[i]);
        if (i < NAMES_MAX)
            buf_printf(&others, "%s%s", i > 0 ? ", " : "", g->metrics[i]);
    }
    if (g->n_metrics > NAMES_MAX)
        buf_printf(&others, " and %zu more", g->n_metrics - NAMES_MAX);
    if (nearest.best != NULL)
        err_set(e, kind, "--%s: no job reported '%s' (did you mean '%s'?)%s", option, name,
                nearest.best, buf_text(&others));
    else
        err_set(e, kind, "--%s: no job reported '%s'%s", option, name, buf_text(&others));
    buf_free(&others);
    return -1;
}

int measures_rank(struct aggregate *g, const struct measures_said *said,
                  const struct ranking *results, struct arena *a, int *ranked_by, struct err *e)
{
    enum goal goal;

    *ranked_by = -1;
    if (said->sort != NULL) {
        *ranked_by = aggregate_find_metric(g, said->sort);
        if (*ranked_by < 0)
            return measures_refuse(g, ERR_USAGE, "sort", said->sort, e);
    } else if (results->metric != NULL) {
        *ranked_by = aggregate_find_metric(g, results->metric);
    }
    if (*ranked_by < 0 && said->shown.n > 0) {
        const char *first = *(const char *const *)said->shown.items; /* "accuracy,loss" */

        *ranked_by = aggregate_find_metric(g, arena_strndup(a, first, strcspn(first, ",")));
    }
    if (*ranked_by < 0)
        *ranked_by = aggregate_main_metric(g);
    if (said->goal == NULL) {
        if (results->metric != NULL)
            aggregate_set_goal(g, results->metric, (enum goal)results->goal);
        return 0;
    }
    /* --goal applies to the measure that ranks. */
    goal = goal_parse(said->goal);
    if (goal == GOAL_COUNT)
        return err_set(e, ERR_USAGE, "--goal takes max or min, not '%s'", said->goal);
    if (*ranked_by < 0)
        return err_set(e, ERR_USAGE, "--goal: of which measure? (--sort names it)");
    aggregate_set_goal(g, g->metrics[*ranked_by], goal);
    return 0;
}

/* ---- choice of measures ---- */

static void show_metric(struct results_view *v, size_t metric)
{
    for (size_t i = 0; i < v->n_metrics; i++)
        if (v->metrics[i] == metric)
            return;
    v->metrics[v->n_metrics++] = metric;
}

/* The ranking measure comes first, as a narrow terminal may have room for only one. */
int measures_choose(struct results_view *v, const struct measures_said *said, struct arena *a,
                    struct err *e)
{
    const struct aggregate *g = v->aggregate;
    const char *const *shown = said->shown.items;

    v->metrics = arena_alloc(a, g->n_metrics * sizeof *v->metrics);
    v->in_detail = said->shown.n > 0;
    for (size_t i = 0; i < said->shown.n; i++)
        /* "accuracy,loss" */
        for (const char *at = shown[i]; *at != '\0';) {
            size_t n = strcspn(at, ",");
            const char *name = arena_strndup(a, at, n);
            int found = aggregate_find_metric(g, name);

            if (n > 0 && found < 0)
                return measures_refuse(g, ERR_USAGE, "metric", name, e);
            if (n > 0)
                show_metric(v, (size_t)found);
            at += n + (at[n] == ',');
        }
    if (v->in_detail)
        return 0;
    if (v->ranked_by >= 0)
        show_metric(v, (size_t)v->ranked_by);
    for (size_t i = 0; i < g->n_metrics; i++)
        show_metric(v, i);
    return 0;
}

/* ---- JSON ---- */

#define NUMBER(name, member)                                                               \
    {                                                                                      \
        name, offsetof(struct measure, member), FIELD_FLOAT, FIELD_NULLABLE, 0, NULL, NULL \
    }

static const struct field measure_fields[] = {
    { "n", offsetof(struct measure, last.n), FIELD_INT, 0, INT64_MAX, NULL, NULL },
    { "nan", offsetof(struct measure, n_nan), FIELD_INT, 0, INT64_MAX, NULL, NULL },
    NUMBER("mean", last.mean),
    NUMBER("std", last.std),
    NUMBER("min", last.min),
    NUMBER("q1", last.q1),
    NUMBER("median", last.median),
    NUMBER("q3", last.q3),
    NUMBER("max", last.max),
    FIELD_NAMED(struct measure, goal, 0, goal_names, GOAL_COUNT),
    NUMBER("best_mean", best.mean),
    NUMBER("best_std", best.std),
    NUMBER("best_min", best.min),
    NUMBER("best_q1", best.q1),
    NUMBER("best_median", best.median),
    NUMBER("best_q3", best.q3),
    NUMBER("best_max", best.max),
    { "live_n", offsetof(struct measure, n_live), FIELD_INT, 0, INT64_MAX, NULL, NULL },
    NUMBER("live", live),
    { "live_step", offsetof(struct measure, live_step), FIELD_INT, FIELD_NULLABLE, INT64_MAX, NULL,
      NULL },
};
const struct schema measure_schema = SCHEMA(struct measure, "measure", measure_fields);

/* A configuration in JSON. */
struct result_row {
    const char *param_name;
    struct value params;
    int64_t n, left;
    struct job_counts counts; /* in JSON the states of aggregate_counts, by name, before left */
    const char *reason;
    bool best;
    struct list jobs;
    int64_t max_rss_bytes;
    double cpu_seconds;
    int64_t gpu_memory_bytes;
    double gpu_percent;
    struct value metrics;
};

static const struct field result_fields[] = {
    FIELD(struct result_row, param_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct result_row, params, FIELD_VALUE, 0, 0),
    FIELD(struct result_row, n, FIELD_INT, 0, INT64_MAX),
    FIELD(struct result_row, left, FIELD_INT, 0, INT64_MAX),
    FIELD(struct result_row, reason, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct result_row, best, FIELD_BOOL, 0, 0),
    FIELD(struct result_row, jobs, FIELD_STRS, 0, INT64_MAX),
    FIELD(struct result_row, max_rss_bytes, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
    FIELD(struct result_row, cpu_seconds, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct result_row, gpu_memory_bytes, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
    FIELD(struct result_row, gpu_percent, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct result_row, metrics, FIELD_VALUE, 0, 0),
};
enum { N_RESULT_FIELDS = sizeof result_fields / sizeof result_fields[0] };
const struct schema *results_schema(void)
{
    static struct field fields[N_RESULT_FIELDS + JOB_STATE_COUNT];
    static struct schema schema = { "result", sizeof(struct result_row), fields, 0 };
    size_t n = 0;

    for (size_t i = 0; i < N_RESULT_FIELDS; i++) {
        bool is_left = result_fields[i].offset == offsetof(struct result_row, left);

        for (int k = 0; k < JOB_STATE_COUNT && is_left; k++)
            if (aggregate_counts((enum job_state)k))
                fields[n++] = (struct field){ .name = job_state_names[k],
                                              .offset = offsetof(struct result_row, counts) +
                                                        (size_t)k * sizeof(int64_t),
                                              .type = FIELD_INT,
                                              .max = INT64_MAX };
        fields[n++] = result_fields[i];
    }
    schema.n_fields = n;
    return &schema;
}

static struct value value_of(const struct measure *m, struct arena *a)
{
    const struct schema *s = &measure_schema;
    struct member *members = arena_alloc(a, s->n_fields * sizeof *members);

    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];
        const void *at = (const char *)m + f->offset;

        members[i].key = value_str(f->name);
        if (f->type == FIELD_INT && *(const int64_t *)at == SCHEMA_NONE)
            members[i].value = value_null();
        else if (f->type == FIELD_INT)
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

int results_write_json(const struct results_view *v, struct err *e)
{
    const struct aggregate *g = v->aggregate;
    const struct schema *schema = results_schema();
    struct value metric = value_null(), goal = value_null();
    struct arena *a = arena_create();
    struct jsonlist l = { 0 };
    int result = 0;

    if (v->ranked_by >= 0) {
        metric = value_str(g->metrics[v->ranked_by]);
        goal = value_str(goal_names[aggregate_goal(g, (size_t)v->ranked_by)]);
    }
    buf_add_str(&l.out, "{\"v\":1,\"metric\":");
    json_add_value(&l.out, &metric);
    buf_add_str(&l.out, ",\"goal\":");
    json_add_value(&l.out, &goal);
    buf_add_str(&l.out, ",\"results\":[");
    for (size_t i = 0; i < v->n && result == 0; i++) {
        const struct config_result *c = &g->configs[i];
        const char **jobs = arena_alloc(a, c->n_jobs * sizeof *jobs);
        struct member *measures = arena_alloc(a, v->n_metrics * sizeof *measures);
        struct result_row row = { .param_name = c->param_name,
                                  .params = c->params,
                                  .n = c->n_done,
                                  .left = c->n_left,
                                  .counts = c->counts,
                                  .reason = c->reason,
                                  .best = (int64_t)i == v->best,
                                  .jobs = { jobs, c->n_jobs },
                                  .max_rss_bytes = c->max_rss_bytes,
                                  .cpu_seconds = c->cpu_seconds,
                                  .gpu_memory_bytes = c->gpu_memory_bytes,
                                  .gpu_percent = c->gpu_percent,
                                  .metrics = { .type = VALUE_MAP, .map = { measures, 0 } } };

        for (size_t k = 0; k < c->n_jobs; k++)
            jobs[k] = c->jobs[k].job;
        for (size_t k = 0; k < v->n_metrics; k++) {
            const struct measure *m = aggregate_measure(c, v->metrics[k]);

            m = m != NULL ? m : aggregate_live(c, v->metrics[k]);
            if (m != NULL)
                measures[row.metrics.map.n++] =
                    value_member(g->metrics[v->metrics[k]], value_of(m, a));
        }
        jsonlist_add(&l, schema, &row);
        arena_reset(a);
        if (l.out.n >= PIECE_BYTES)
            result = jsonlist_flush(&l, e);
    }
    arena_destroy(a);
    return result < 0 ? -1 : jsonlist_end(&l, e);
}

/* ---- CSV ---- */

/* CSV has the fields of a measure up to the deviation of the best values, whose mean is "best". */
enum { N_CSV_FIELDS = 12 };

static void add_csv_row(struct buf *out, const struct results_view *v,
                        const struct config_result *c)
{
    const char *const *names = v->varying.items;

    csv_add(out, c->param_name);
    for (size_t i = 0; i < v->varying.n; i++)
        csv_next_value(out, value_get(&c->params, names[i]));
    buf_printf(out, ",%" PRId64, c->n_done);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (aggregate_counts((enum job_state)i))
            buf_printf(out, ",%" PRId64, c->counts.of[i]);
    buf_printf(out, ",%" PRId64, c->n_left);
    csv_next(out, c->reason != NULL ? c->reason : "");
    for (size_t i = 0; i < c->n_jobs; i++)
        buf_printf(out, "%c%s", i > 0 ? ' ' : ',', c->jobs[i].job);
    if (c->n_jobs == 0)
        buf_add_char(out, ',');
    buf_add_char(out, ',');
    if (c->max_rss_bytes != SCHEMA_NONE)
        buf_printf(out, "%" PRId64, c->max_rss_bytes);
    csv_next_number(out, c->cpu_seconds);
    buf_add_char(out, ',');
    if (c->gpu_memory_bytes != SCHEMA_NONE)
        buf_printf(out, "%" PRId64, c->gpu_memory_bytes);
    csv_next_number(out, c->gpu_percent);
    for (size_t i = 0; i < v->n_metrics * N_CSV_FIELDS; i++) {
        const struct measure *m = aggregate_measure(c, v->metrics[i / N_CSV_FIELDS]);
        const struct field *f = &measure_fields[i % N_CSV_FIELDS];
        const void *at = m != NULL ? (const char *)m + f->offset : NULL;

        if (f->type == FIELD_INT)
            buf_printf(out, ",%" PRId64, at != NULL ? *(const int64_t *)at : 0);
        else if (f->type == FIELD_FLOAT)
            csv_next_number(out, at != NULL ? *(const double *)at : (double)NAN);
    }
    buf_add_char(out, '\n');
}

int results_write_csv(const struct results_view *v, struct err *e)
{
    const char *const *names = v->varying.items;
    struct buf out = { 0 }, metric = { 0 };

    csv_add(&out, "param_name");
    for (size_t i = 0; i < v->varying.n; i++)
        csv_next_param(&out, names[i]);
    buf_add_str(&out, ",n");
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (aggregate_counts((enum job_state)i))
            csv_next(&out, job_state_names[i]);
    buf_add_str(&out, ",left,reason,jobs,max_rss_bytes,cpu_seconds,gpu_memory_bytes,gpu_percent");
    for (size_t i = 0; i < v->n_metrics * N_CSV_FIELDS; i++) {
        const struct field *f = &measure_fields[i % N_CSV_FIELDS];
        bool is_best = strcmp(f->name, "best_mean") == 0;

        if (f->type == FIELD_ENUM)
            continue;
        buf_printf(&metric, "%s_%s", v->aggregate->metrics[v->metrics[i / N_CSV_FIELDS]],
                   is_best ? "best" : f->name);
        csv_next(&out, buf_text(&metric));
        buf_clear(&metric);
    }
    buf_free(&metric);
    buf_add_char(&out, '\n');
    for (size_t i = 0; i < v->n; i++) {
        add_csv_row(&out, v, &v->aggregate->configs[i]);
        if (out.n >= PIECE_BYTES && csv_write(&out, e) < 0)
            return -1;
    }
    return csv_write(&out, e);
}

/* ==== the table ==== */

/* ---- cells ---- */

/* The kinds of columns; a column is made only if its kind is shown. */
enum part { PART_ALWAYS, PART_PARAM, PART_MEAN, PART_BEST, PART_MEDIAN, PART_QUARTILES };

struct place {
    enum part part;
    size_t index; /* index of the parameter or the measure */
};

/* A table under construction. */
struct sheet {
    const struct results_view *view;
    size_t n_metrics; /* number shown, from the first */
    size_t n_params;  /* number shown, from the first */
    bool has_median, has_quartiles, has_best, has_notes;
    size_t width;  /* SIZE_MAX: no terminal, so that parameters have all their digits */
    int *decimals; /* digits behind the point of each metric; -1: as %g prints */
    struct table *table;
    struct place *places; /* what each column shows */
    size_t n_places;
    struct buf text; /* the next cell's */
};

static void put(struct sheet *s, enum tone tone, const char *text)
{
    if (s->view->n_cells != NULL)
        ++*s->view->n_cells;
    table_add(s->table, tone, text);
}

static void end_cell(struct sheet *s, enum tone tone)
{
    put(s, tone, buf_text(&s->text));
    buf_clear(&s->text);
}

/* How many digits behind the point show two digits of the median of all deviations. */
static int decimals_of(const struct results_view *v, size_t metric)
{
    double *all = mem_resize(NULL, v->n, sizeof *all), usual;
    size_t n = 0;

    for (size_t i = 0; i < v->n; i++) {
        const struct measure *m = aggregate_measure(&v->aggregate->configs[i], metric);

        if (m != NULL && isfinite(m->last.std) && m->last.std > 0)
            all[n++] = m->last.std;
    }
    if (n > 1)
        qsort(all, n, sizeof *all, stats_compare);
    usual = n == 0 ? 0 : all[n / 2];
    free(all);
    if (usual < 1e-8)
        return -1;
    return usual >= 10 ? 0 : 1 - (int)floor(log10(usual));
}

static void add_number(struct buf *out, double x, int decimals)
{
    if (decimals < 0 || fabs(x) >= 1e15)
        buf_printf(out, "%.6g", x);
    else
        buf_printf(out, "%.*f", decimals, x);
}

static void add_mean(struct sheet *s, const struct stats *stats, int decimals)
{
    if (isnan(stats->mean)) {
        buf_add_str(&s->text, "nan");
        return;
    }
    add_number(&s->text, stats->mean, decimals);
    if (isnan(stats->std))
        return;
    buf_add_str(&s->text, " ± ");
    add_number(&s->text, stats->std, decimals);
}

static bool shows_best(const struct sheet *s, size_t column)
{
    const struct results_view *v = s->view;

    return s->has_best && (v->in_detail || (int)v->metrics[column] == v->ranked_by);
}

static void add_measure(struct sheet *s, enum tone tone, const struct config_result *c,
                        size_t column)
{
    const struct measure *m = aggregate_measure(c, s->view->metrics[column]);
    size_t n_cells = 1u + shows_best(s, column) + s->has_median + s->has_quartiles;

    if (m == NULL) {
        const struct measure *live = aggregate_live(c, s->view->metrics[column]);

        if (live != NULL) {
            buf_printf(&s->text, "~%.6g", live->live);
            if (live->live_step != SCHEMA_NONE)
                buf_printf(&s->text, " @%" PRId64, live->live_step);
            end_cell(s, TONE_DIM);
        }
        for (size_t i = live != NULL; i < n_cells; i++)
            put(s, tone, "-");
        return;
    }
    add_mean(s, &m->last, s->decimals[column]);
    end_cell(s, tone);
    if (shows_best(s, column)) {
        add_mean(s, &m->best, s->decimals[column]);
        end_cell(s, tone);
    }
    if (s->has_median) {
        if (!isnan(m->last.median))
            add_number(&s->text, m->last.median, s->decimals[column]);
        end_cell(s, tone);
    }
    if (s->has_quartiles) {
        if (!isnan(m->last.median)) {
            add_number(&s->text, m->last.q1, s->decimals[column]);
            buf_add_str(&s->text, " .. ");
            add_number(&s->text, m->last.q3, s->decimals[column]);
        }
        end_cell(s, tone);
    }
}

/* ---- rows ---- */

static void add_row(struct sheet *s, const struct config_result *c, bool is_best)
{
    const char *const *names = s->view->varying.items;
    enum tone tone = is_best ? TONE_GOOD : TONE_PLAIN;
    bool is_bad = c->n_nan > 0;

    put(s, tone, is_best ? "*" : "");
    if (!s->view->is_grouped)
        put(s, tone, c->param_name);
    for (size_t i = 0; i < s->n_params; i++) {
        const struct value *v = value_get(&c->params, names[i]);

        /* On a terminal six digits are enough; other outputs have all. */
        if (v != NULL && s->width != SIZE_MAX && v->type == VALUE_FLOAT && isfinite(v->f))
            buf_printf(&s->text, "%.6g", v->f);
        else if (v != NULL)
            json_add_text(&s->text, v);
        end_cell(s, tone);
    }
    buf_printf(&s->text, "%" PRId64, c->n_done);
    end_cell(s, tone);
    for (size_t i = 0; i < s->n_metrics; i++)
        add_measure(s, tone, c, i);
    if (!s->has_notes)
        return;
    if (c->n_nan > 0)
        buf_printf(&s->text, "%" PRId64 " nan", c->n_nan);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (aggregate_counts((enum job_state)i) && c->counts.of[i] > 0) {
            is_bad = is_bad || job_look((enum job_state)i) == JOB_LOOKS_BAD;
            buf_printf(&s->text, "%s%" PRId64 " %s", s->text.n > 0 ? ", " : "", c->counts.of[i],
                       job_state_names[i]);
        }
    if (c->n_left > 0)
        buf_printf(&s->text, "%s%" PRId64 " not over", s->text.n > 0 ? ", " : "", c->n_left);
    if (c->reason != NULL)
        buf_printf(&s->text, ": %s", c->reason);
    end_cell(s, is_bad ? TONE_BAD : TONE_DIM);
}

/* ---- columns ---- */

static void add_column(struct sheet *s, struct column *columns, enum part part, size_t index,
                       const char *head, bool right, bool shrinks)
{
    columns[s->n_places] = (struct column){ head, right, shrinks };
    s->places[s->n_places++] = (struct place){ part, index };
}

/* Whether a column's values may be cut, which would make other numbers of numbers. */
static bool has_text(const struct results_view *v, const char *name)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct value *value = value_get(&v->aggregate->configs[i].params, name);

        if (value != NULL &&
            (value->type == VALUE_STR || value->type == VALUE_LIST || value->type == VALUE_MAP))
            return true;
    }
    return false;
}

/* Lets the table leave out, together, columns of these kinds for parameters or measures first to
 * last. */
static void may_go(struct sheet *s, unsigned parts, size_t first, size_t last)
{
    bool is_first = true;

    for (size_t i = 0; i < s->n_places; i++) {
        const struct place *p = &s->places[i];

        if ((parts >> p->part & 1) == 0 || p->index < first || p->index > last)
            continue;
        if (is_first)
            table_may_leave_out(s->table, i, NEED_ROOM);
        else
            table_leave_out_too(s->table, i);
        is_first = false;
    }
}

/* Makes the columns.  Columns may be left out in this order: quartiles, medians, further measures,
 * the first measure's best value, parameters. */
static void make_table(struct sheet *s, bool colour)
{
    const struct results_view *v = s->view;
    const char *const *names = v->varying.items;
    size_t most = 4 + s->n_params + 4 * s->n_metrics;
    struct column *columns = mem_resize(NULL, most, sizeof *columns);

    s->places = mem_resize(s->places, most, sizeof *s->places);
    s->n_places = 0;
    add_column(s, columns, PART_ALWAYS, 0, "", false, false);
    if (!v->is_grouped)
        add_column(s, columns, PART_ALWAYS, 0, "CONFIGURATION", false, false);
    for (size_t i = 0; i < s->n_params; i++)
        add_column(s, columns, PART_PARAM, i, names[i], true, has_text(v, names[i]));
    add_column(s, columns, PART_ALWAYS, 0, "N", true, false);
    for (size_t i = 0; i < s->n_metrics; i++) {
        const char *name = v->aggregate->metrics[v->metrics[i]];
        size_t n = strlen(name);

        /* On a terminal a long name is cut. */
        if (s->width != SIZE_MAX && safe_text_width(name, n) > NAME_COLUMNS) {
            n = safe_text_fitting(name, n, NAME_COLUMNS - 1);
            name = arena_printf(v->aggregate->arena, "%.*s…", (int)n, name);
        }
        add_column(s, columns, PART_MEAN, i, name, true, false);
        if (shows_best(s, i))
            add_column(s, columns, PART_BEST, i, "best", true, false);
        if (s->has_median)
            add_column(s, columns, PART_MEDIAN, i, "median", true, false);
        if (s->has_quartiles)
            add_column(s, columns, PART_QUARTILES, i, "quartiles", true, false);
    }
    if (s->has_notes)
        add_column(s, columns, PART_ALWAYS, 0, "NOTES", false, true);
    s->table = table_create(columns, s->n_places, s->width, colour);
    free(columns);
    for (size_t i = 0; i < s->n_params; i++)
        if (!v->is_grouped)
            may_go(s, 1 << PART_PARAM, i, i);
    may_go(s, 1 << PART_BEST, 0, 0);
    for (size_t i = 1; i < s->n_metrics; i++)
        may_go(s, 1 << PART_MEAN | 1 << PART_BEST, i, i);
    may_go(s, 1 << PART_MEDIAN, 0, SIZE_MAX);
    may_go(s, 1 << PART_QUARTILES, 0, SIZE_MAX);
}

/* Learns from the fitted table how many parameters and measures remain; the last ones go first. */
static void learn_what_fits(struct sheet *s)
{
    for (size_t i = s->n_places; i-- > 0;) {
        const struct place *p = &s->places[i];

        if (!table_leaves_out(s->table, i))
            continue;
        if (p->part == PART_PARAM)
            s->n_params = p->index;
        else if (p->part == PART_MEAN)
            s->n_metrics = p->index;
        s->has_best = s->has_best && (p->part != PART_BEST || p->index > 0);
        s->has_median = s->has_median && p->part != PART_MEDIAN;
        s->has_quartiles = s->has_quartiles && p->part != PART_QUARTILES;
    }
}

static bool differs(const struct results_view *v, size_t metric)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct measure *m = aggregate_measure(&v->aggregate->configs[i], metric);

        if (m != NULL && !isnan(m->best.mean) && m->best.mean != m->last.mean)
            return true;
    }
    return false;
}

static void add_what_is_left_out(struct buf *out, const struct sheet *s)
{
    const struct results_view *v = s->view;
    size_t n_measures = v->n_metrics - s->n_metrics, n_params = v->varying.n - s->n_params;
    size_t n = n_measures + n_params;
    struct buf text = { 0 };

    if (n_measures > 0)
        buf_printf(&text, "%zu more measure%s", n_measures, n_measures == 1 ? "" : "s");
    if (n_params > 0)
        buf_printf(&text, "%s%zu more parameter%s", text.n > 0 ? ", " : "", n_params,
                   n_params == 1 ? "" : "s");
    if (v->in_detail && !s->has_quartiles) {
        buf_printf(&text, "%s%s", text.n > 0 ? ", " : "",
                   s->has_median ? "quartiles" : "median and quartiles");
        n += 2;
    }
    if (n > 0)
        buf_printf(out, "(%s do%s not fit; %s)\n", buf_text(&text), n == 1 ? "es" : "",
                   n_params == 0 && !v->in_detail ? "--metric NAME shows one" : "--csv prints all");
    buf_free(&text);
}

void results_add_table(struct buf *out, const struct results_view *v, size_t columns, bool colour)
{
    struct sheet s = { .view = v,
                       .n_metrics = v->n_metrics,
                       .n_params = v->varying.n,
                       .has_median = v->in_detail,
                       .has_quartiles = v->in_detail,
                       .width = columns,
                       .decimals = mem_resize(NULL, v->n_metrics, sizeof *s.decimals) };

    for (size_t i = 0; i < v->n; i++) {
        const struct config_result *c = &v->aggregate->configs[i];

        s.has_notes = s.has_notes || c->n_nan > 0 || c->n_done < (int64_t)c->n_jobs;
    }
    /* Best values are shown if any job's best value was not its last one. */
    s.has_best = !v->in_detail && v->ranked_by >= 0 && differs(v, (size_t)v->ranked_by);
    for (size_t i = 0; i < v->n_metrics; i++) {
        s.decimals[i] = decimals_of(v, v->metrics[i]);
        s.has_best = s.has_best || (v->in_detail && differs(v, v->metrics[i]));
    }
    /* First fits the heads alone, so that cells are made only for columns that may be shown. */
    make_table(&s, colour);
    table_fit(s.table);
    learn_what_fits(&s);
    table_destroy(s.table);
    make_table(&s, colour);
    for (size_t i = 0; i < v->n; i++)
        add_row(&s, &v->aggregate->configs[i], (int64_t)i == v->best);
    table_flush(s.table, out);
    learn_what_fits(&s);
    table_destroy(s.table);
    add_what_is_left_out(out, &s);
    free(s.decimals);
    free(s.places);
    buf_free(&s.text);
}

/* SPDX-License-Identifier: MIT */
/* series.c - gives all reported values of a measure: results --series */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/pages.h"
#include "client/results/ranked.h"
#include "client/results/results_out.h"
#include "client/results/series.h"
#include "client/term/csv.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "common/base/path.h"
#include "common/data/json.h"
#include "common/proto/jobspec.h"
#include "common/proto/layout.h"
#include "common/proto/metric_line.h"

enum {
    LINE_MAX_BYTES = 1024 * 1024,
    FLUSH_BYTES = 64 * 1024,
    AHEAD = 64 /* jobs whose files are asked for before they are read */
};

static const struct field series_row_fields[] = {
    FIELD(struct series_row, job, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct series_row, param_name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct series_row, rep, FIELD_INT, 0, INT64_MAX),
    FIELD(struct series_row, params, FIELD_VALUE, 0, 0),
    FIELD(struct series_row, step, FIELD_VALUE, 0, 0),
    FIELD(struct series_row, value, FIELD_VALUE, 0, 0),
};
const struct schema series_row_schema = SCHEMA(struct series_row, "series_row", series_row_fields);

/* ---- lines, in bounded memory ---- */

struct lines {
    struct share_input *file;
    size_t begin, end; /* bytes that are not handed out yet */
    bool at_end;
    bool in_long_line; /* the rest of a line that is too long comes next */
    char bytes[LINE_MAX_BYTES + 1];
};

/* Gives the next line without its end: 1, or 0 at the end, or -1.  Too long lines are skipped. */
static int lines_next(struct lines *l, char **line, struct err *e)
{
    for (;;) {
        char *end = memchr(l->bytes + l->begin, '\n', l->end - l->begin);
        bool ends_line, is_whole;

        if (end == NULL && !l->at_end) {
            ssize_t n;

            memmove(l->bytes, l->bytes + l->begin, l->end - l->begin);
            l->end -= l->begin;
            l->begin = 0;
            n = share_read_input(l->file, l->bytes + l->end, LINE_MAX_BYTES - l->end, e);
            if (n < 0)
                return -1;
            l->at_end = (size_t)n < LINE_MAX_BYTES - l->end;
            l->end += (size_t)n;
            end = memchr(l->bytes, '\n', l->end);
        }
        if (end == NULL && l->begin == l->end)
            return 0;
        /* A piece ends at the end of a line, of the file or of the memory. */
        *line = l->bytes + l->begin;
        ends_line = end != NULL || l->at_end;
        if (end == NULL)
            end = l->bytes + l->end;
        l->begin = (size_t)(end - l->bytes) + (end < l->bytes + l->end);
        is_whole = ends_line && !l->in_long_line;
        l->in_long_line = !ends_line;
        if (is_whole && end > *line && end[-1] == '\r')
            end--;
        *end = '\0';
        if (is_whole)
            return 1;
    }
}

/* ---- reader ---- */

struct reader {
    struct lines *lines;
    const struct series_wanted *wanted;
    size_t metric;       /* the measure that a CSV file has */
    struct arena *arena; /* holds one line */
    bool *found;         /* for each measure: whether it has values */
    /* of one file: */
    struct arena *kept; /* texts of steps */
    struct series_point *points;
    size_t n, capacity;
    double *highest; /* for each measure: the highest step, -INFINITY: none */
    bool goes_back;  /* a measure came to a step that it had passed, as after a retry */
};

static void keep_point(struct reader *r, size_t metric, struct value step, struct value value)
{
    double at;

    if (step.type == VALUE_STR)
        step = value_str(arena_strdup(r->kept, step.str.s));
    else if (metric_number(&step, &at) && at <= r->highest[metric])
        r->goes_back = true;
    else if (metric_number(&step, &at))
        r->highest[metric] = at;
    r->found[metric] = true;
    mem_grow((void **)&r->points, &r->capacity, r->n, sizeof *r->points);
    r->points[r->n++] = (struct series_point){ metric, step, value };
}

/* Where a point belongs on its curve. */
struct place {
    double step; /* -INFINITY: it has none */
    size_t metric, number;
    bool is_replaced; /* a later point of the measure has the same step */
};

static int compare_places(const void *x, const void *y)
{
    const struct place *p = x, *q = y;

    if (p->step < q->step || p->step > q->step)
        return p->step < q->step ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

static int compare_curves(const void *x, const void *y)
{
    const struct place *p = x, *q = y;

    if (p->metric != q->metric)
        return p->metric < q->metric ? -1 : 1;
    return compare_places(x, y);
}

/* The points in the order of their steps, and of those with the same step the last alone. */
static struct place *order_points(const struct reader *r)
{
    struct place *places = mem_alloc(r->n * sizeof *places);
    double at;

    for (size_t i = 0; i < r->n; i++) {
        const struct series_point *p = &r->points[i];

        places[i] = (struct place){ .step = metric_number(&p->step, &at) ? at : -(double)INFINITY,
                                    .metric = p->metric,
                                    .number = i };
    }
    qsort(places, r->n, sizeof *places, compare_curves);
    for (size_t i = 0; i + 1 < r->n; i++)
        places[i].is_replaced = isfinite(places[i].step) &&
                                places[i].metric == places[i + 1].metric &&
                                !(places[i].step < places[i + 1].step);
    qsort(places, r->n, sizeof *places, compare_places);
    return places;
}

/* Hands out the points of a file. */
static int give_points(struct reader *r, struct err *e)
{
    struct place *places = r->goes_back ? order_points(r) : NULL;
    int result = 0;

    for (size_t i = 0; i < r->n && result == 0; i++)
        if (places == NULL || !places[i].is_replaced)
            result = r->wanted->take(r->wanted->context,
                                     &r->points[places == NULL ? i : places[i].number], e);
    free(places);
    return result;
}

static bool is_number(const struct value *v)
{
    return v->type == VALUE_INT || v->type == VALUE_FLOAT;
}

static int read_json_lines(struct reader *r, struct err *e)
{
    const struct series_wanted *wanted = r->wanted;
    char *line;
    int got;

    while ((got = lines_next(r->lines, &line, e)) > 0) {
        const struct value *step;
        struct value map;
        bool is_map =
            json_read(line, strlen(line), r->arena, &map, NULL) == 0 && map.type == VALUE_MAP;

        step = is_map ? value_get(&map, "step") : NULL;
        for (size_t i = 0; is_map && i < wanted->n; i++) {
            const struct value *value = metric_value(&map, wanted->metrics[i]);
            double number, at;

            if (metric_number(value, &number))
                keep_point(r, i,
                           !metric_number(step, &at) ? value_null()
                           : is_number(step)         ? *step
                                                     : value_float(at),
                           is_number(value) ? *value : value_float(number));
        }
        arena_reset(r->arena);
    }
    return got;
}

/* ---- CSV ---- */

/* Ends the first field, without its quotes, and returns the second; NULL if there is none. */
static char *split_row(char *row)
{
    bool is_quoted = row[0] == '"';
    char *at = row + strcspn(row, ","), *end = at;

    if (is_quoted) {
        end = row;
        for (at = row + 1; *at != '\0' && (at[0] != '"' || at[1] == '"'); at++) {
            at += *at == '"';
            *end++ = *at;
        }
        at += *at == '"';
    }
    if (*at != ',')
        return NULL;
    *end = '\0';
    return strpbrk(at + 1, ",\"") == NULL ? at + 1 : NULL;
}

static bool read_number(const char *text, struct value *v)
{
    char *end;

    errno = 0;
    *v = value_int(strtoll(text, &end, 10));
    if (end > text && *end == '\0' && errno == 0)
        return true;
    *v = value_float(strtod(text, &end));
    return end > text && *end == '\0';
}

/* A first row with an empty field is a head: an index, or a series without a name, has none. */
static int read_csv(struct reader *r, struct err *e)
{
    const char *measure = r->wanted->metrics[r->metric];
    bool is_first = true;
    char *row;
    int got;

    while ((got = lines_next(r->lines, &row, e)) > 0) {
        char *text = split_row(row);
        struct value step, value;
        bool is_head = is_first && text != NULL && (row[0] == '\0' || text[0] == '\0');

        if (is_first && text == NULL) /* columns with semicolons between them, or more than two */
            return 0;
        if (is_first && text[0] != '\0' && !read_number(text, &value) &&
            !metric_csv_has_step(row, text, measure, strlen(measure)))
            return 0;
        is_first = false;
        value = value_float((double)NAN); /* pandas writes NaN as an empty field */
        if (text == NULL || is_head || (text[0] != '\0' && !read_number(text, &value)))
            continue;
        if (!read_number(row, &step))
            step = value_str(row);
        keep_point(r, r->metric, step, value);
    }
    return got;
}

/* ---- files ---- */

/* A missing file is no error; returns 0 also, but with e set, when the file cannot be opened. */
static int read_file(struct reader *r, struct share_dir *fs, const char *path,
                     int (*read)(struct reader *, struct err *), struct err *e)
{
    struct err why = { 0 };
    struct share_input *f = share_open_input(fs, path, 0, &why);
    int result;

    if (f == NULL) {
        if (why.kind != ERR_NOT_FOUND)
            err_set(e, why.kind, "%s", why.text);
        return 0;
    }
    r->lines->file = f;
    r->lines->begin = r->lines->end = 0;
    r->lines->at_end = r->lines->in_long_line = false;
    r->n = 0;
    r->goes_back = false;
    for (size_t i = 0; i < r->wanted->n; i++)
        r->highest[i] = -(double)INFINITY;
    result = read(r, e);
    if (result == 0)
        result = give_points(r, e);
    arena_reset(r->kept);
    share_close_input(f);
    return result;
}

/* The folder with the job's result or what it left; a running job has only its file.  The caller
 * frees it. */
static char *folder_of(const struct job_result *r)
{
    if (r->run_path != NULL)
        return mem_strdup(r->run_path);
    return strcmp(path_basename(r->metrics_path), LAYOUT_METRICS) == 0
               ? path_dirname(r->metrics_path)
               : NULL;
}

/* The path of the CSV file; NULL: the metric's name cannot be a file's. */
static char *csv_path(const char *run_path, const char *metric)
{
    return strchr(metric, '/') == NULL ? mem_printf("%s/%s.csv", run_path, metric) : NULL;
}

/* folder: has CSV files of measures that the file of lines lacks; NULL: there are only lines. */
static int read_all(struct share_dir *fs, const char *lines, const char *folder,
                    const struct series_wanted *wanted, struct err *e)
{
    struct reader r = { .lines = mem_resize(NULL, 1, sizeof *r.lines),
                        .wanted = wanted,
                        .arena = arena_create(),
                        .kept = arena_create(),
                        .found = mem_alloc(wanted->n * sizeof *r.found),
                        .highest = mem_alloc(wanted->n * sizeof *r.highest) };
    int result = read_file(&r, fs, lines, read_json_lines, e);
    bool has_any = false;

    for (r.metric = 0; r.metric < wanted->n; r.metric++) {
        char *csv = folder != NULL ? csv_path(folder, wanted->metrics[r.metric]) : NULL;

        if (csv != NULL && result == 0 && !r.found[r.metric])
            result = read_file(&r, fs, csv, read_csv, e);
        else if (csv != NULL)
            share_forget(fs, csv);
        has_any = has_any || r.found[r.metric];
        free(csv);
    }
    free(r.found);
    free(r.highest);
    free(r.points);
    arena_destroy(r.kept);
    arena_destroy(r.arena);
    free(r.lines);
    return result < 0 ? -1 : has_any;
}

int series_read(struct share_dir *fs, const char *run_path, const char *metric, series_fn take,
                void *context, struct err *e)
{
    const struct series_wanted wanted = { &metric, 1, take, context };
    char *lines = path_join(run_path, LAYOUT_METRICS);
    int result = read_all(fs, lines, run_path, &wanted, e);

    free(lines);
    return result;
}

int series_read_job(struct share_dir *fs, const struct job_result *r,
                    const struct series_wanted *wanted, struct err *e)
{
    char *folder = folder_of(r);
    struct buf lines = { 0 };
    int result;

    if (folder != NULL)
        buf_printf(&lines, "%s/" LAYOUT_METRICS, folder);
    else
        buf_add_str(&lines, r->metrics_path);
    /* The last attempt may have no file yet. */
    while (folder == NULL && !share_exists(fs, buf_text(&lines)) && layout_metrics_before(&lines))
        ;
    result = read_all(fs, buf_text(&lines), folder, wanted, e);
    buf_free(&lines);
    free(folder);
    return result;
}

void series_ahead(struct share_dir *fs, const struct job_result *r, const char *const *metrics,
                  size_t n)
{
    char *lines;

    if (r->run_path == NULL)
        return;
    lines = path_join(r->run_path, LAYOUT_METRICS);
    share_ahead(fs, lines, NULL, NULL);
    free(lines);
    for (size_t i = 0; i < n; i++) {
        char *csv = csv_path(r->run_path, metrics[i]);

        if (csv != NULL)
            share_ahead(fs, csv, NULL, NULL);
        free(csv);
    }
}

/* ---- series of all jobs, to stdout ---- */

struct series_out {
    const struct results_series *said;
    struct share_dir *fs;
    struct list params;           /* names */
    struct jsonlist list;         /* output as JSON */
    struct buf csv;               /* or as CSV */
    const struct job_result *job; /* the job whose points come */
    int64_t n_jobs, n_missing;    /* jobs that are done, and of these without a series */
    int64_t n_found;              /* jobs with a series */
    char *missing;                /* the first job without a series, and why */
    bool has_trouble;             /* a file could not be read */
};

/* JSON cannot hold NAN and infinities, so they become null. */
static struct value number_or_null(const struct value *v)
{
    return v->type == VALUE_FLOAT && !isfinite(v->f) ? value_null() : *v;
}

static int add_point(void *context, const struct series_point *point, struct err *e)
{
    struct series_out *o = context;
    const char *const *names = o->params.items;
    const struct job_result *r = o->job;

    if (o->said->json) {
        struct series_row row = { .job = r->job,
                                  .param_name = r->param_name,
                                  .rep = r->rep,
                                  .params = r->params,
                                  .step = number_or_null(&point->step),
                                  .value = number_or_null(&point->value) };

        jsonlist_add(&o->list, &series_row_schema, &row);
        return o->list.out.n < FLUSH_BYTES ? 0 : jsonlist_flush(&o->list, e);
    }
    csv_add(&o->csv, r->job);
    csv_next(&o->csv, r->param_name);
    buf_printf(&o->csv, ",%" PRId64, r->rep);
    for (size_t i = 0; i < o->params.n; i++)
        csv_next_value(&o->csv, value_get(&r->params, names[i]));
    csv_next_value(&o->csv, point->step.type != VALUE_NULL ? &point->step : NULL);
    csv_next_value(&o->csv, &point->value);
    buf_add_char(&o->csv, '\n');
    return o->csv.n < FLUSH_BYTES ? 0 : csv_write(&o->csv, e);
}

static int add_job(struct series_out *o, const struct job_result *r, struct err *e)
{
    const char *metric = o->said->metric;
    const struct series_wanted wanted = { &metric, 1, add_point, o };
    bool is_done = job_has_published((enum job_state)r->state);
    struct err why = { 0 };
    int found;

    o->job = r;
    o->n_jobs += is_done;
    found = series_read_job(o->fs, r, &wanted, &why);
    if (found < 0)
        return err_set(e, why.kind, "%s", why.text);
    o->n_found += found > 0;
    if (found > 0 || !is_done)
        return 0;
    o->has_trouble = o->has_trouble || why.kind != ERR_NONE;
    if (o->n_missing++ == 0)
        o->missing = why.kind != ERR_NONE ? mem_printf("job %s: %s", r->job, why.text)
                                          : mem_printf("job %s has no series '%s' in %s", r->job,
                                                       metric, r->run_path);
    return 0;
}

/* Whether the job matches --where and may have a series. */
static bool is_wanted(const struct series_out *o, const struct job_result *r)
{
    return (o->said->where == NULL || ranked_matches_job(o->said->where, r)) &&
           (r->run_path != NULL || r->metrics_path != NULL);
}

static int add_page(void *context, const struct job_result *results, size_t n, struct err *e)
{
    struct series_out *o = context;
    size_t n_ahead = 0;

    for (size_t i = 0; i < n; i++) {
        for (; n_ahead < n && n_ahead < i + AHEAD; n_ahead++)
            if (is_wanted(o, &results[n_ahead]))
                series_ahead(o->fs, &results[n_ahead], &o->said->metric, 1);
        if (is_wanted(o, &results[i]) && add_job(o, &results[i], e) < 0)
            return -1;
    }
    return 0;
}

static int write_all(struct series_out *o, struct rpc *rpc, int64_t sweep,
                     const struct aggregate *g, struct err *e)
{
    const struct results_series *said = o->said;
    const char *const *names = o->params.items;
    int result;

    if (said->json) {
        jsonlist_begin(&o->list, "series");
    } else {
        buf_add_str(&o->csv, "job,param_name,rep");
        for (size_t i = 0; i < o->params.n; i++)
            csv_next_param(&o->csv, names[i]);
        buf_add_str(&o->csv, ",step,value\n");
    }
    result = pages_results(rpc, sweep, add_page, o, e);
    if (result == 0 && said->where != NULL)
        result = where_check_names(said->where, e);
    /* No done job has such a series: it is an error, and nothing was written yet. */
    if (result == 0 && o->n_jobs > 0 && o->n_found == 0 && !o->has_trouble &&
        aggregate_find_metric(g, said->metric) < 0)
        result = measures_refuse(g, ERR_NOT_FOUND, "series", said->metric, e);
    if (result == 0)
        result = said->json ? jsonlist_end(&o->list, e) : csv_write(&o->csv, e);
    if (result == 0 && o->n_missing > 1)
        output_note("note: %s, nor ha%s %" PRId64 " other%s of the %" PRId64 " jobs that are done",
                    o->missing, o->n_missing == 2 ? "s" : "ve", o->n_missing - 1,
                    o->n_missing == 2 ? "" : "s", o->n_jobs);
    else if (result == 0 && o->n_missing == 1)
        output_note("note: %s", o->missing);
    return result;
}

static int add_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    (void)e;
    for (size_t i = 0; i < n; i++)
        aggregate_add(context, &results[i]);
    return 0;
}

/* A first pass over the results finds the parameters, a second one writes the series. */
int results_series_show(struct session *session, int64_t sweep, const struct results_series *said,
                        struct err *e)
{
    struct series_out o = { .said = said, .fs = session_open_drive(session, e) };
    struct aggregate g;
    int result;

    if (o.fs == NULL)
        return -1;
    aggregate_init(&g);
    result = pages_results(&session->rpc, sweep, add_results, &g, e);
    o.params = aggregate_params(&g);
    if (result == 0)
        result = write_all(&o, &session->rpc, sweep, &g, e);
    jsonlist_drop(&o.list);
    buf_free(&o.csv);
    free(o.missing);
    aggregate_free(&g);
    share_close(o.fs);
    return result;
}

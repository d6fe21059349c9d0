/* SPDX-License-Identifier: MIT */
/* results_table.c - the results of a sweep as a table for people */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/results/results_out.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/mem.h"
#include "common/data/json.h"

/* The last two as in table.c. */
enum { NAME_COLUMNS = 24, TABLE_GAP = 2, TABLE_SHRUNK_MIN = 8 };

/* ---- numbers ---- */

static int compare_numbers(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/*
 * Digits behind the point, so that the usual deviation, below which half of the configurations
 * stay, shows two; -1: as %g says.
 */
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
        qsort(all, n, sizeof *all, compare_numbers);
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

/* ---- cells ---- */

/* What must be shown for a column to be there. */
enum part { PART_ALWAYS, PART_PARAM, PART_MEAN, PART_BEST, PART_MEDIAN, PART_QUARTILES };

struct place {
    struct column column;
    enum part part;
    size_t index; /* of the parameter or the measure */
    size_t width; /* of the widest cell so far, or of the head */
};

/* A table that is being filled, or measured; decimals: of each metric that is shown. */
struct sheet {
    const struct results_view *view;
    size_t n_metrics; /* so many of them, from the first */
    size_t n_params;  /* so many of them, from the first */
    bool has_median, has_quartiles, has_best, has_notes;
    bool is_exact; /* no terminal: parameters with all their digits */
    int *decimals;
    struct place *places;
    size_t n_places;
    struct table *table; /* NULL: cells are measured only */
    size_t at;           /* place of the next cell that is measured */
    struct buf text;     /* of the next cell */
};

/* Adds a cell to the table, or only measures it. */
static void put(struct sheet *s, enum tone tone, const char *text)
{
    struct buf harmless = { 0 };
    struct place *p;
    size_t width;

    if (s->view->n_cells != NULL)
        ++*s->view->n_cells;
    if (s->table != NULL) {
        table_add(s->table, tone, text);
        return;
    }
    p = &s->places[s->at++ % s->n_places];
    safe_text_add_harmless(&harmless, text, strlen(text), "");
    width = safe_text_width(buf_text(&harmless), harmless.n);
    if (width > p->width)
        p->width = width;
    buf_free(&harmless);
}

static void end_cell(struct sheet *s, enum tone tone)
{
    put(s, tone, buf_text(&s->text));
    buf_clear(&s->text);
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
        for (size_t i = 0; i < n_cells; i++)
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

static void add_count(struct buf *out, int64_t n, const char *what)
{
    if (n > 0)
        buf_printf(out, "%s%" PRId64 " %s", out->n > 0 ? ", " : "", n, what);
}

static void add_notes(struct sheet *s, const struct config_result *c)
{
    enum tone tone = c->n_failed > 0 || c->n_nan > 0 ? TONE_BAD : TONE_DIM;

    add_count(&s->text, c->n_nan, "nan");
    add_count(&s->text, c->n_failed, "failed");
    add_count(&s->text, c->n_cancelled, "cancelled");
    add_count(&s->text, c->n_left, "not over");
    if (c->reason != NULL)
        buf_printf(&s->text, ": %s", c->reason);
    end_cell(s, tone);
}

/* ---- rows ---- */

static void add_row(struct sheet *s, const struct config_result *c, bool is_best)
{
    const char *const *names = s->view->varying.items;
    enum tone tone = is_best ? TONE_GOOD : TONE_PLAIN;

    put(s, tone, is_best ? "*" : "");
    put(s, tone, c->param_name);
    for (size_t i = 0; i < s->n_params; i++) {
        const struct value *v = value_get(&c->params, names[i]);

        /* Six digits are enough to tell values apart at a glance; other outputs have all. */
        if (v != NULL && !s->is_exact && v->type == VALUE_FLOAT && isfinite(v->f))
            buf_printf(&s->text, "%.6g", v->f);
        else if (v != NULL)
            json_add_text(&s->text, v);
        end_cell(s, tone);
    }
    buf_printf(&s->text, "%" PRId64, c->n_done);
    end_cell(s, tone);
    for (size_t i = 0; i < s->n_metrics; i++)
        add_measure(s, tone, c, i);
    if (s->has_notes)
        add_notes(s, c);
}

/* As a column's head: what a terminal would obey is written out. */
static const char *head_of(struct sheet *s, const char *name)
{
    struct buf head = { 0 };
    const char *copy;

    safe_text_add_harmless(&head, name, strlen(name), "");
    copy = arena_strdup(s->view->aggregate->arena, buf_text(&head));
    buf_free(&head);
    return copy;
}

static void add_place(struct sheet *s, enum part part, size_t index, struct column column)
{
    size_t width = safe_text_width(column.head, strlen(column.head));

    s->places[s->n_places++] = (struct place){ column, part, index, width };
}

static void add_measure_places(struct sheet *s, size_t i, size_t width)
{
    const struct results_view *v = s->view;
    const char *name = head_of(s, v->aggregate->metrics[v->metrics[i]]);
    size_t n = strlen(name);

    /* A terminal shows a long name's beginning. */
    if (width != SIZE_MAX && safe_text_width(name, n) > NAME_COLUMNS) {
        n = safe_text_fitting(name, n, NAME_COLUMNS - 1);
        name = arena_printf(v->aggregate->arena, "%.*s…", (int)n, name);
    }
    add_place(s, PART_MEAN, i, (struct column){ name, true, false });
    if (shows_best(s, i))
        add_place(s, PART_BEST, i, (struct column){ "best", true, false });
    if (s->has_median)
        add_place(s, PART_MEDIAN, i, (struct column){ "median", true, false });
    if (s->has_quartiles)
        add_place(s, PART_QUARTILES, i, (struct column){ "quartiles", true, false });
}

/* Whether a value may be cut: of a number that would leave another one. */
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

/* The columns of what is shown, as wide as their heads. */
static void make_places(struct sheet *s, size_t width)
{
    const char *const *names = s->view->varying.items;

    s->places = mem_resize(s->places, 4 + s->n_params + 4 * s->n_metrics, sizeof *s->places);
    s->n_places = 0;
    add_place(s, PART_ALWAYS, 0, (struct column){ "", false, false });
    add_place(s, PART_ALWAYS, 0, (struct column){ "CONFIGURATION", false, false });
    for (size_t i = 0; i < s->n_params; i++)
        add_place(s, PART_PARAM, i,
                  (struct column){ head_of(s, names[i]), true, has_text(s->view, names[i]) });
    add_place(s, PART_ALWAYS, 0, (struct column){ "N", true, false });
    for (size_t i = 0; i < s->n_metrics; i++)
        add_measure_places(s, i, width);
    if (s->has_notes)
        add_place(s, PART_ALWAYS, 0, (struct column){ "NOTES", false, true });
}

static void add_all_rows(struct sheet *s)
{
    for (size_t i = 0; i < s->view->n; i++)
        add_row(s, &s->view->aggregate->configs[i], (int64_t)i == s->view->best);
}

static void add_rows(struct sheet *s, struct buf *out, size_t width, bool colour)
{
    struct column *columns;

    make_places(s, width);
    columns = mem_resize(NULL, s->n_places, sizeof *columns);
    for (size_t i = 0; i < s->n_places; i++)
        columns[i] = s->places[i].column;
    s->table = table_create(columns, s->n_places, width, colour);
    free(columns);
    add_all_rows(s);
    table_flush(s->table, out);
    table_destroy(s->table);
    s->table = NULL;
}

/* ---- what fits ---- */

static bool is_in(const struct sheet *s, const struct place *p)
{
    switch (p->part) {
    case PART_ALWAYS: return true;
    case PART_PARAM: return p->index < s->n_params;
    case PART_MEAN: return p->index < s->n_metrics;
    case PART_BEST: return p->index < s->n_metrics && shows_best(s, p->index);
    case PART_MEDIAN: return p->index < s->n_metrics && s->has_median;
    case PART_QUARTILES: return p->index < s->n_metrics && s->has_quartiles;
    }
    return false;
}

/* Whether a line does when the columns that may be cut are as narrow as they get. */
static bool fits(const struct sheet *s, size_t width)
{
    size_t total = 0;

    for (size_t i = 0; i < s->n_places; i++) {
        const struct place *p = &s->places[i];
        bool is_cut = p->column.shrinks && p->width > TABLE_SHRUNK_MIN;

        if (is_in(s, p))
            total += TABLE_GAP + (is_cut ? TABLE_SHRUNK_MIN : p->width);
    }
    return total - TABLE_GAP <= width;
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

/* Whether the best value of any job was not its last one, of a measure whose best is shown. */
static bool has_best(const struct results_view *v)
{
    if (!v->in_detail)
        return v->ranked_by >= 0 && differs(v, (size_t)v->ranked_by);
    for (size_t i = 0; i < v->n_metrics; i++)
        if (differs(v, v->metrics[i]))
            return true;
    return false;
}

/* Takes away what is least useful: of what is told of a measure, of measures, of parameters. */
static bool leave_out(struct sheet *s)
{
    if (s->has_quartiles)
        s->has_quartiles = false;
    else if (s->has_median)
        s->has_median = false;
    else if (s->n_metrics > 1)
        s->n_metrics--;
    else if (s->has_best)
        s->has_best = false;
    else if (s->n_params > 0)
        s->n_params--;
    else
        return false;
    return true;
}

/* First by the heads alone, so that only cells which may be shown are measured, and each once. */
static void leave_out_rest(struct sheet *s, size_t width)
{
    make_places(s, width);
    while (!fits(s, width) && leave_out(s))
        ;
    make_places(s, width);
    add_all_rows(s);
    while (!fits(s, width) && leave_out(s))
        ;
}

/* What is left out, with commas between, and how much that is. */
struct left_out {
    struct buf text;
    size_t n;
};

static void note_left_out(struct left_out *l, size_t n, const char *what)
{
    if (n == 0)
        return;
    buf_printf(&l->text, "%s%zu more %s%s", l->n > 0 ? ", " : "", n, what, n == 1 ? "" : "s");
    l->n += n;
}

static void add_what_is_left_out(struct buf *out, const struct sheet *s)
{
    bool in_detail = s->view->in_detail;
    bool only_measures = s->n_params == s->view->varying.n && !in_detail;
    struct left_out l = { .n = 0 };

    note_left_out(&l, s->view->n_metrics - s->n_metrics, "measure");
    note_left_out(&l, s->view->varying.n - s->n_params, "parameter");
    if (in_detail && !s->has_quartiles) {
        buf_printf(&l.text, "%s%s", l.n > 0 ? ", " : "",
                   s->has_median ? "quartiles" : "median and quartiles");
        l.n += 2;
    }
    if (l.n > 0)
        buf_printf(out, "(%s do%s not fit; %s)\n", buf_text(&l.text), l.n == 1 ? "es" : "",
                   only_measures ? "--metric NAME shows one" : "--csv prints all");
    buf_free(&l.text);
}

void results_add_table(struct buf *out, const struct results_view *v, size_t columns, bool colour)
{
    struct sheet s = { .view = v,
                       .n_metrics = v->n_metrics,
                       .n_params = v->varying.n,
                       .has_median = v->in_detail,
                       .has_quartiles = v->in_detail,
                       .is_exact = columns == SIZE_MAX,
                       .has_best = has_best(v),
                       .decimals = mem_resize(NULL, v->n_metrics, sizeof *s.decimals) };

    for (size_t i = 0; i < v->n; i++) {
        const struct config_result *c = &v->aggregate->configs[i];

        s.has_notes =
            s.has_notes || c->n_nan > 0 || c->n_failed > 0 || c->n_cancelled > 0 || c->n_left > 0;
    }
    for (size_t i = 0; i < v->n_metrics; i++)
        s.decimals[i] = decimals_of(v, v->metrics[i]);
    if (columns != SIZE_MAX)
        leave_out_rest(&s, columns);
    add_rows(&s, out, columns, colour);
    add_what_is_left_out(out, &s);
    free(s.decimals);
    free(s.places);
    buf_free(&s.text);
}

/* SPDX-License-Identifier: MIT */
/* results_table.c - the results of a sweep as a table for people */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/results_out.h"
#include "client/table.h"
#include "client/text.h"
#include "common/json.h"
#include "common/mem.h"

enum { NAME_COLUMNS = 24 };

/* ---- numbers ---- */

static int compare_numbers(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* The deviation that half of the configurations stay below; 0 when there is none. */
static double usual_deviation(const struct results_view *v, size_t metric)
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
    return usual;
}

/* Digits behind the point, so that the usual deviation shows two; -1: as %g says. */
static int decimals_of(const struct results_view *v, size_t metric)
{
    double deviation = usual_deviation(v, metric);

    if (deviation < 1e-8)
        return -1;
    return deviation >= 10 ? 0 : 1 - (int)floor(log10(deviation));
}

static void add_number(struct buf *out, double x, int decimals)
{
    if (decimals < 0 || fabs(x) >= 1e15)
        buf_printf(out, "%.6g", x);
    else
        buf_printf(out, "%.*f", decimals, x);
}

/* ---- cells ---- */

/* A table that is being filled; decimals: of each metric that is shown. */
struct sheet {
    const struct results_view *view;
    size_t n_metrics; /* so many of them, from the first */
    struct list varying;
    bool has_best, has_notes;
    int *decimals;
    struct table *table;
    struct buf text; /* of the next cell */
};

static void end_cell(struct sheet *s, enum tone tone)
{
    table_add(s->table, tone, buf_text(&s->text));
    buf_clear(&s->text);
}

static void add_mean(struct sheet *s, const struct stats *stats, int decimals)
{
    add_number(&s->text, stats->mean, decimals);
    if (isnan(stats->std))
        return;
    buf_add_str(&s->text, " ± ");
    add_number(&s->text, stats->std, decimals);
}

static void add_details(struct sheet *s, enum tone tone, const struct measure *m, int decimals)
{
    add_number(&s->text, m->last.median, decimals);
    end_cell(s, tone);
    add_number(&s->text, m->last.q1, decimals);
    buf_add_str(&s->text, " .. ");
    add_number(&s->text, m->last.q3, decimals);
    end_cell(s, tone);
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
    size_t n_cells = (shows_best(s, column) ? 2u : 1u) + (s->view->in_detail ? 2u : 0u);

    if (m == NULL) {
        for (size_t i = 0; i < n_cells; i++)
            table_add(s->table, tone, "-");
        return;
    }
    add_mean(s, &m->last, s->decimals[column]);
    end_cell(s, tone);
    if (shows_best(s, column)) {
        add_mean(s, &m->best, s->decimals[column]);
        end_cell(s, tone);
    }
    if (s->view->in_detail)
        add_details(s, tone, m, s->decimals[column]);
}

static void add_count(struct buf *out, int64_t n, const char *what)
{
    if (n > 0)
        buf_printf(out, "%s%" PRId64 " %s", out->n > 0 ? ", " : "", n, what);
}

static bool is_noteworthy(const struct config_result *c)
{
    return c->n_failed > 0 || c->n_cancelled > 0 || c->n_left > 0;
}

static void add_notes(struct sheet *s, const struct config_result *c)
{
    enum tone tone = c->n_failed > 0 ? TONE_BAD : TONE_DIM;

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
    const char *const *names = s->varying.items;
    enum tone tone = is_best ? TONE_GOOD : TONE_PLAIN;

    table_add(s->table, tone, is_best ? "*" : "");
    table_add(s->table, tone, c->param_name);
    for (size_t i = 0; i < s->varying.n; i++) {
        const struct value *v = value_get(&c->params, names[i]);

        if (v != NULL)
            json_add_text(&s->text, v);
        end_cell(s, tone);
    }
    table_printf(s->table, tone, "%" PRId64, c->n_done);
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

    text_add_harmless(&head, name, strlen(name), "");
    copy = arena_strdup(s->view->aggregate->arena, buf_text(&head));
    buf_free(&head);
    return copy;
}

/* A measure's name as it is, or its beginning. */
static const char *short_name(struct sheet *s, const char *name, size_t width)
{
    size_t n = strlen(name);

    if (width == SIZE_MAX || text_width(name, n) <= NAME_COLUMNS)
        return name;
    n = text_fitting(name, n, NAME_COLUMNS - 1);
    return arena_printf(s->view->aggregate->arena, "%.*s…", (int)n, name);
}

static size_t add_measure_columns(struct sheet *s, struct column *to, size_t column, size_t width)
{
    const struct results_view *v = s->view;
    const char *name = head_of(s, v->aggregate->metrics[v->metrics[column]]);
    size_t n = 0;

    to[n++] = (struct column){ short_name(s, name, width), true, false };
    if (shows_best(s, column))
        to[n++] = (struct column){ "best", true, false };
    if (v->in_detail) {
        to[n++] = (struct column){ "median", true, false };
        to[n++] = (struct column){ "quartiles", true, false };
    }
    return n;
}

static void make_table(struct sheet *s, size_t width, bool colour)
{
    const char *const *names = s->varying.items;
    struct column *columns = mem_resize(NULL, 4 + s->varying.n + 4 * s->n_metrics, sizeof *columns);
    size_t n = 0;

    columns[n++] = (struct column){ "", false, false };
    columns[n++] = (struct column){ "CONFIGURATION", false, false };
    for (size_t i = 0; i < s->varying.n; i++)
        columns[n++] = (struct column){ head_of(s, names[i]), true, true };
    columns[n++] = (struct column){ "N", true, false };
    for (size_t i = 0; i < s->n_metrics; i++)
        n += add_measure_columns(s, columns + n, i, width);
    if (s->has_notes)
        columns[n++] = (struct column){ "NOTES", false, true };
    s->table = table_create(columns, n, width, colour);
    free(columns);
}

static void add_rows(struct sheet *s, struct buf *out, size_t width, bool colour)
{
    make_table(s, width, colour);
    for (size_t i = 0; i < s->view->n; i++)
        add_row(s, &s->view->aggregate->configs[i], (int64_t)i == s->view->best);
    table_flush(s->table, out);
    table_destroy(s->table);
}

/* ---- what fits ---- */

static bool fits(struct sheet *s, size_t width)
{
    struct buf text = { 0 };
    bool result = true;

    add_rows(s, &text, width, false);
    for (const char *line = buf_text(&text); *line != '\0' && result;) {
        size_t n = strcspn(line, "\n");

        result = text_width(line, n) <= width;
        line += n + (line[n] == '\n');
    }
    buf_free(&text);
    return result;
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

static bool has_notes(const struct results_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (is_noteworthy(&v->aggregate->configs[i]))
            return true;
    return false;
}

void results_add_table(struct buf *out, const struct results_view *v, size_t columns, bool colour)
{
    struct sheet s = { .view = v,
                       .n_metrics = v->n_metrics,
                       .varying = aggregate_varying(v->aggregate),
                       .has_best = has_best(v),
                       .has_notes = has_notes(v),
                       .decimals = mem_resize(NULL, v->n_metrics, sizeof *s.decimals) };

    for (size_t i = 0; i < v->n_metrics; i++)
        s.decimals[i] = decimals_of(v, v->metrics[i]);
    while (columns != SIZE_MAX && !v->in_detail && s.n_metrics > 1 && !fits(&s, columns))
        s.n_metrics--;
    add_rows(&s, out, columns, colour);
    if (s.n_metrics < v->n_metrics)
        buf_printf(out, "(%zu more measures do not fit; --metric NAME shows it)\n",
                   v->n_metrics - s.n_metrics);
    free(s.decimals);
    buf_free(&s.text);
}

/* SPDX-License-Identifier: MIT */
/* view_curves.c - the pane of curves of `ludwig watch` */
#include "client/watch/view_pane.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "common/data/json.h"

enum { LABEL_COLUMNS = 9, LEGEND_COLUMNS = 30 };

/* ---- curves ---- */

struct range {
    double low, high;
};

static void widen(struct range *r, double x)
{
    if (!isfinite(x))
        return;
    r->low = isnan(r->low) || x < r->low ? x : r->low;
    r->high = isnan(r->high) || x > r->high ? x : r->high;
}

/* Computes with halves, as the difference of two large numbers may overflow. */
static double part_of(const struct range *r, double x)
{
    double height = r->high / 2 - r->low / 2;

    return height > 0 ? (x / 2 - r->low / 2) / height : 0.5;
}

static const struct watch_series *series_of(const struct watch_curve *c, const char *metric)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->series[i].name, metric) == 0)
            return &c->series[i];
    return NULL;
}

static int ink_of_curve(size_t i)
{
    static const double places[WATCH_CURVES_MAX] = { 1, 0.25, 0.6, 0, 0.8, 0.4, 0.12, 0.5 };

    return ink_of_rank(places[i]);
}

static void draw_series(struct view *v, const struct area *a, const struct watch_series *s,
                        const struct range *x, const struct range *y, int ink, const char *letter)
{
    double from[2] = { (double)NAN, 0 };

    for (size_t i = 0; i <= s->n; i++) {
        double px = i < s->n ? s->x[i] : s->last_x, py = i < s->n ? s->y[i] : s->last_y;
        double to[2] = { part_of(x, px), part_of(y, py) };

        if (!isfinite(px) || !isfinite(py)) {
            from[0] = (double)NAN;
            continue;
        }
        if (isnan(from[0]))
            canvas_spot(v->c, a, to[0], to[1], ink);
        else
            canvas_line(v->c, a, from, to, ink);
        memcpy(from, to, sizeof from);
    }
    if (!isnan(from[0]))
        canvas_text(v->c, a->column + (size_t)lround(from[0] * (double)(a->columns - 1)),
                    a->row + (size_t)lround((1 - from[1]) * (double)(a->rows - 1)), 1, ink, letter);
}

static void draw_axes(struct view *v, const struct area *a, const struct range *x,
                      const struct range *y)
{
    struct buf text = { 0 };

    view_add_number(&text, y->high);
    canvas_text_before(v->c, a->column - 1, a->row, LABEL_COLUMNS, INK_DIM, buf_text(&text));
    buf_clear(&text);
    view_add_number(&text, y->low);
    canvas_text_before(v->c, a->column - 1, a->row + a->rows - 1, LABEL_COLUMNS, INK_DIM,
                       buf_text(&text));
    buf_clear(&text);
    buf_add_str(&text, "step ");
    view_add_number(&text, x->low);
    canvas_text(v->c, a->column, a->row + a->rows, a->columns, INK_DIM, buf_text(&text));
    buf_clear(&text);
    view_add_number(&text, x->high);
    canvas_text_before(v->c, a->column + a->columns, a->row + a->rows, a->columns, INK_DIM,
                       buf_text(&text));
    buf_free(&text);
}

/* Adds the parameters by which the job differs from another one with a curve. */
static void add_differing(struct buf *out, struct view *v, const struct watch_sweep *s,
                          const struct job_info *job)
{
    struct value *kept = arena_alloc(v->arena, sizeof *kept);
    struct job_info other;
    size_t n = 0;

    if (job->params.type != VALUE_MAP)
        return;
    kept->type = VALUE_MAP;
    kept->map.members = arena_alloc(v->arena, (job->params.map.n + 1) * sizeof(struct member));
    for (size_t i = 0; i < job->params.map.n; i++) {
        const struct member *m = &job->params.map.members[i];
        struct buf here = { 0 }, there = { 0 };
        bool differs = false;

        json_add_text(&here, &m->value);
        for (size_t k = 0; k < WATCH_CURVES_MAX && !differs; k++) {
            const struct value *value;

            if (v->m->curves[k].sweep != s->info.sweep ||
                !model_job(s, v->m->curves[k].job, v->arena, &other))
                continue;
            value = value_get(&other.params, m->key.str.s);
            buf_clear(&there);
            if (value != NULL)
                json_add_text(&there, value);
            differs = strcmp(buf_text(&here), buf_text(&there)) != 0;
        }
        if (differs)
            ((struct member *)kept->map.members)[n++] = *m;
        buf_free(&here);
        buf_free(&there);
    }
    kept->map.n = n;
    jobinfo_add_params(out, n > 0 ? kept : &job->params);
}

static void draw_legend(struct view *v, const struct area *a, size_t row, size_t i,
                        const struct watch_curve *curve, const struct watch_series *series)
{
    const struct watch_sweep *s = model_chosen(v->m);
    const char letter[2] = { (char)('a' + i), '\0' };
    struct buf text = { 0 };
    struct job_info job;
    size_t column;

    if (s == NULL || curve->job > (int64_t)s->n_jobs)
        return;
    buf_printf(&text, "%s %" PRId64 ".%" PRId64 "%s ", letter, curve->sweep, curve->job,
               s->jobs[curve->job - 1].is_pinned ? "*" : "");
    column = view_put_buf(v, a, row, 0, ink_of_curve(i), &text);
    view_add_number(&text, series->last_y);
    buf_add_char(&text, ' ');
    column = view_put_buf(v, a, row, column, INK_PLAIN, &text);
    if (model_job(s, curve->job, v->arena, &job))
        add_differing(&text, v, s, &job);
    view_put_buf(v, a, row, column, INK_DIM, &text);
}

void view_draw_curves(struct view *v, const struct area *a)
{
    struct range x = { (double)NAN, (double)NAN }, y = x;
    struct watch_model *m = v->m;
    const struct watch_sweep *s = model_chosen(m);
    const char *metric = model_metric(m, v->arena);
    struct area inner = { a->column, a->row + 1, a->columns, a->rows - 1 }, picture, legend;
    struct buf title = { 0 };
    bool has_best = m->best != NULL && s != NULL && m->best_sweep == s->info.sweep;
    size_t row = 0;

    buf_add_str(&title, "curves");
    if (metric != NULL)
        buf_printf(&title, " of %.40s (m: the next measure)", metric);
    view_put_title(v, a, PANE_CURVES, buf_text(&title));
    buf_free(&title);
    if (has_best)
        view_put(v, &inner, inner.rows - 1, 0, INK_GOOD, m->best);
    inner.rows -= has_best;
    if (metric == NULL) {
        view_put(v, &inner, 0, 0, INK_DIM,
                 "the jobs that run, or are pinned, have reported nothing (ludwig help report)");
        return;
    }
    for (size_t i = 0; i < WATCH_CURVES_MAX; i++) {
        const struct watch_series *series = series_of(&m->curves[i], metric);

        for (size_t k = 0; series != NULL && k < series->n; k++)
            if (isfinite(series->y[k])) {
                widen(&x, series->x[k]);
                widen(&y, series->y[k]);
            }
        if (series != NULL && isfinite(series->last_y)) {
            widen(&x, series->last_x);
            widen(&y, series->last_y);
        }
    }
    legend = (struct area){ a->column + a->columns - LEGEND_COLUMNS, inner.row, LEGEND_COLUMNS,
                            inner.rows };
    picture = (struct area){ a->column + LABEL_COLUMNS, inner.row,
                             a->columns - LABEL_COLUMNS - LEGEND_COLUMNS - 2, inner.rows - 1 };
    if (a->columns < LABEL_COLUMNS + LEGEND_COLUMNS + 12)
        picture.columns = a->columns - LABEL_COLUMNS;
    if (!isnan(y.low) && picture.rows > 0)
        draw_axes(v, &picture, &x, &y);
    for (size_t i = 0; i < WATCH_CURVES_MAX; i++) {
        const char letter[2] = { (char)('a' + i), '\0' };
        const struct watch_series *series = series_of(&m->curves[i], metric);

        if (series == NULL)
            continue;
        if (!isnan(y.low) && picture.rows > 0)
            draw_series(v, &picture, series, &x, &y, ink_of_curve(i), letter);
        if (a->columns >= LABEL_COLUMNS + LEGEND_COLUMNS + 12)
            draw_legend(v, &legend, row++, i, &m->curves[i], series);
    }
}

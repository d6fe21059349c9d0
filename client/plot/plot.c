/* SPDX-License-Identifier: MIT */
/* plot.c - draws a sweep on the cells of a terminal: ludwig plot */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/importance/axis.h"
#include "client/importance/importance.h"
#include "client/plot/plot.h"
#include "common/data/json.h"
#include "common/proto/goal.h"

enum {
    LABEL_COLUMNS = 8, /* left of a picture */
    GAP_COLUMNS = 3,   /* between pictures */
    CURVES_MAX = 300,
    ROWS_LEAST = 20,
    STRIP_COLUMNS = 22,
    IMPORTANCE_COLUMNS = 36, /* or a quarter of all */
    LOG_RATIO = 300,
    SPOTS_MAX = 300, /* more configurations are drawn as dots, not spots */
    ROWS_AROUND = 7  /* heads, and labels below axes */
};

struct plot {
    struct gathered *g;
    struct aggregate *aggregate;
    size_t metric;
    enum goal goal;
    struct importance importance;
    bool has_importance;
    struct canvas *canvas;
    bool has_utf8;
    double low, high; /* the means at the edges; worse ones are drawn on the edge */
    size_t n_ranked;  /* how many configurations, the first ones, have a mean */
};

/* ---- scales ---- */

static double mean_of(const struct plot *p, size_t config)
{
    const struct measure *m = aggregate_measure(&p->aggregate->configs[config], p->metric);

    return m != NULL ? m->last.mean : (double)NAN;
}

static double rank_of(const struct plot *p, size_t config)
{
    if (config >= p->n_ranked)
        return (double)NAN;
    return p->n_ranked > 1 ? 1 - (double)config / (double)(p->n_ranked - 1) : 1;
}

/* Computes with halves, as the difference of two finite numbers may be infinite. */
static double fraction(double x, double low, double high)
{
    return high > low ? (x / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
}

/* Sets low and high, without a few configurations that are far worse and would take all room. */
static void choose_range(struct plot *p)
{
    size_t n = p->n_ranked, shown = n;
    double best = mean_of(p, 0), worst = mean_of(p, n - 1), limit;

    if (n >= 4) {
        limit = mean_of(p, n / 2) + 5 * (mean_of(p, n / 2) - best);
        while (shown > 1 && (p->goal == GOAL_MIN ? mean_of(p, shown - 1) > limit
                                                 : mean_of(p, shown - 1) < limit))
            shown--;
        if (shown >= n * 2 / 3 &&
            fabs(mean_of(p, shown - 1) / 2 - best / 2) < fabs(worst / 2 - best / 2) / 2)
            worst = mean_of(p, shown - 1);
    }
    p->low = fmin(best, worst);
    p->high = fmax(best, worst);
}

/* Returns where a mean lies between the edges, 0 to 1. */
static double height_of(const struct plot *p, double mean)
{
    return fmin(1, fmax(0, fraction(mean, p->low, p->high)));
}

/* Draws a configuration at its mean. */
static void mark(struct plot *p, const struct area *a, double x, size_t config)
{
    double y = height_of(p, mean_of(p, config));
    int ink = ink_of_rank(rank_of(p, config));

    if (p->n_ranked <= SPOTS_MAX)
        canvas_spot(p->canvas, a, x, y, ink);
    else
        canvas_dot(p->canvas, a, x, y, ink);
}

/* ---- axes ---- */

static void label(struct plot *p, const struct area *a, size_t row, double x)
{
    struct buf text = { 0 };

    buf_printf(&text, "%.4g", x);
    canvas_text_before(p->canvas, a->column - 1, a->row + row, LABEL_COLUMNS - 1, INK_DIM,
                       buf_text(&text));
    buf_free(&text);
}

static void label_y(struct plot *p, const struct area *a, double low, double high, bool is_log)
{
    canvas_axes(p->canvas, a);
    label(p, a, 0, high);
    if (high > low && a->rows > 1)
        label(p, a, a->rows - 1, low);
    if (high > low && a->rows > 6 && a->rows % 2 == 1)
        label(p, a, a->rows / 2, is_log ? sqrt(low) * sqrt(high) : low / 2 + high / 2);
}

/* Writes labels below an area, such as "0 ... step 19". */
static void label_x(struct plot *p, const struct area *a, const char *low, const char *high,
                    const char *name)
{
    size_t row = a->row + a->rows;
    size_t n_low = strlen(low) < a->columns / 2 ? strlen(low) : a->columns / 2;
    struct buf end = { 0 };

    buf_printf(&end, "%s%s%s", name, name[0] != '\0' ? " " : "", high);
    canvas_text(p->canvas, a->column, row, a->columns / 2, INK_DIM, low);
    canvas_text_before(p->canvas, a->column + a->columns, row, a->columns - n_low - 1, INK_DIM,
                       buf_text(&end));
    buf_free(&end);
}

static void head(struct plot *p, const struct area *a, const char *text)
{
    canvas_text(p->canvas, a->column, a->row - 1, a->columns, INK_STRONG, text);
}

/* ---- curves ---- */

struct curve_range {
    double x0, x1, y0, y1;
    bool is_log; /* y is logarithmic */
};

static double curve_height(const struct curve_range *r, double value)
{
    return r->is_log ? fraction(log(value), log(r->y0), log(r->y1)) : fraction(value, r->y0, r->y1);
}

/* Sorts values and sets their range to draw: the deciles and three times their distance around. */
static void useful_range(double *values, size_t n, double *low, double *high)
{
    double spread, tenth, rest;

    qsort(values, n, sizeof *values, stats_compare);
    tenth = values[n / 10];
    rest = values[n - 1 - n / 10];
    spread = rest / 2 - tenth / 2;
    *low = spread > 0 ? fmax(values[0], tenth - 6 * spread) : values[0];
    *high = spread > 0 ? fmin(values[n - 1], rest + 6 * spread) : values[n - 1];
}

static bool range_of_curves(const struct plot *p, struct curve_range *r)
{
    const struct curves *c = &p->g->curves;
    double *values = NULL;
    size_t n = 0, capacity = 0;
    bool has_any;

    *r = (struct curve_range){ .x0 = (double)INFINITY, .x1 = (double)-INFINITY };
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; c->items[i].metric == p->metric && k < c->items[i].n; k++) {
            const struct curve_point *point = &c->items[i].points[k];
            double step = isnan(point->step) ? (double)k : point->step;

            if (!isfinite(point->value))
                continue;
            r->x0 = fmin(r->x0, step);
            r->x1 = fmax(r->x1, step);
            mem_grow((void **)&values, &capacity, n, sizeof *values);
            values[n++] = point->value;
        }
    has_any = n > 0 && r->x1 > r->x0;
    if (has_any) {
        useful_range(values, n, &r->y0, &r->y1);
        r->is_log = values[0] > 0 && r->y1 / r->y0 > LOG_RATIO;
    }
    free(values);
    return has_any;
}

static void draw_mean(struct plot *p, const struct area *a, const struct curve_range *r,
                      const struct list *curve, int ink)
{
    const struct mean_point *points = curve->items;

    for (size_t i = 1; i < curve->n; i++) {
        double from[2], to[2];

        from[0] = fraction(points[i - 1].step, r->x0, r->x1);
        from[1] = curve_height(r, points[i - 1].mean);
        to[0] = fraction(points[i].step, r->x0, r->x1);
        to[1] = curve_height(r, points[i].mean);
        canvas_line(p->canvas, a, from, to, ink);
    }
}

/* Draws one standard deviation around a curve. */
static void draw_band(struct plot *p, const struct area *a, const struct curve_range *r,
                      const struct list *curve)
{
    const struct mean_point *points = curve->items;
    double before[3], now[3];

    for (size_t i = 0; i < curve->n; i++) {
        double low = curve_height(r, points[i].mean - points[i].std);

        now[0] = fraction(points[i].step, r->x0, r->x1);
        now[1] = isnan(low) ? 0 : low; /* a number with no logarithm */
        now[2] = curve_height(r, points[i].mean + points[i].std);
        if (i > 0 && (points[i].std > 0 || points[i - 1].std > 0))
            canvas_band(p->canvas, a, before, now, ink_of_rank(1));
        memcpy(before, now, sizeof before);
    }
}

static void draw_curves(struct plot *p, const struct area *a)
{
    const size_t n = p->aggregate->n, stride = n / CURVES_MAX + 1;
    struct curve_range r;
    struct list best;
    struct buf low = { 0 }, high = { 0 };

    head(p, a, "curves, the best with its band");
    if (!range_of_curves(p, &r)) {
        canvas_text(p->canvas, a->column, a->row + a->rows / 2, a->columns, INK_DIM,
                    "no job has reported it more than once");
        return;
    }
    best = gather_mean_curve(p->g, 0, p->metric, p->g->arena);
    draw_band(p, a, &r, &best);
    for (size_t i = n; i-- > 1;) {
        struct list curve;

        if (i % stride != 0)
            continue;
        curve = gather_mean_curve(p->g, i, p->metric, p->g->arena);
        draw_mean(p, a, &r, &curve, ink_of_rank(rank_of(p, i)));
    }
    draw_mean(p, a, &r, &best, ink_of_rank(1));
    label_y(p, a, r.y0, r.y1, r.is_log);
    buf_printf(&low, "%.6g", r.x0);
    buf_printf(&high, "%.6g", r.x1);
    label_x(p, a, buf_text(&low), buf_text(&high), "step");
    buf_free(&low);
    buf_free(&high);
}

/* ---- the best so far ---- */

static int compare_ends(const void *x, const void *y)
{
    const struct gathered_job *a = *(const struct gathered_job *const *)x;
    const struct gathered_job *b = *(const struct gathered_job *const *)y;

    if (a->ended_at != b->ended_at)
        return (a->ended_at > b->ended_at) - (a->ended_at < b->ended_at);
    return (a > b) - (a < b);
}

static void draw_best_so_far(struct plot *p, const struct area *a)
{
    const struct gathered_job **done = mem_alloc((p->g->n_jobs + 1) * sizeof *done);
    double best = (double)NAN, before[2] = { 0, 0 };
    struct buf high = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < p->g->n_jobs; i++)
        if (job_has_published((enum job_state)p->g->jobs[i].result.state))
            done[n++] = &p->g->jobs[i];
    qsort(done, n, sizeof *done, compare_ends);
    for (size_t i = 0; i < n; i++) {
        double mean = mean_of(p, done[i]->config), x = n > 1 ? (double)i / (double)(n - 1) : 0.5;

        if (isnan(mean))
            continue;
        mark(p, a, x, done[i]->config);
        if (isnan(best) || (p->goal == GOAL_MIN ? mean < best : mean > best)) {
            const double corner[2] = { x, before[1] }, now[2] = { x, height_of(p, mean) };

            if (!isnan(best)) {
                canvas_line(p->canvas, a, before, corner, INK_STRONG);
                canvas_line(p->canvas, a, corner, now, INK_STRONG);
            }
            memcpy(before, now, sizeof before);
            best = mean;
        }
    }
    if (!isnan(best)) {
        const double end[2] = { 1, before[1] };

        canvas_line(p->canvas, a, before, end, INK_STRONG);
    }
    head(p, a, "best so far");
    label_y(p, a, p->low, p->high, false);
    buf_printf(&high, "%zu", n);
    label_x(p, a, "1", buf_text(&high), "jobs done");
    buf_free(&high);
    free(done);
}

/* ---- importance ---- */

static void draw_importance(struct plot *p, const struct area *a)
{
    const struct param_importance *params = p->importance.importance.items;
    const size_t names = a->columns * 2 / 5, bars = a->columns - names - 6;

    head(p, a, "importance");
    if (!p->has_importance)
        canvas_text(p->canvas, a->column, a->row, a->columns, INK_DIM, "too few configurations");
    for (size_t i = 0; p->has_importance && i < p->importance.importance.n && i <= a->rows; i++) {
        double share = params[i].importance / params[0].importance;
        struct buf text = { 0 };

        canvas_text(p->canvas, a->column, a->row + i, names - 1, INK_PLAIN, params[i].param);
        canvas_bar(p->canvas, a->column + names, a->row + i, (size_t)lround(share * (double)bars),
                   ink_of_rank(0.75));
        buf_printf(&text, "%.2f", params[i].importance);
        canvas_text_before(p->canvas, a->column + a->columns, a->row + i, 5, INK_DIM,
                           buf_text(&text));
        buf_free(&text);
    }
}

/* ---- strips ---- */

static double place_on(const struct axis *axis, size_t config)
{
    size_t place = axis->places[config], last = axis->n_choices - 1;

    if (place == AXIS_NO_PLACE)
        return (double)NAN;
    if (axis->kind == AXIS_CHOICE) /* the middle of the choice's part */
        return ((double)place + 0.5) / (double)(last + 1);
    return axis_fraction(axis, axis_number(&axis->choices[place]));
}

static void add_number(struct buf *out, const struct value *v)
{
    if (v->type == VALUE_FLOAT)
        buf_printf(out, "%.4g", v->f);
    else
        json_add_text(out, v);
}

/* Labels each choice where it stands if there is room, else both ends of the axis. */
static void label_strip(struct plot *p, const struct area *a, const struct axis *axis)
{
    size_t each = a->columns / (axis->n_choices > 0 ? axis->n_choices : 1);
    struct buf text = { 0 }, high = { 0 };

    if (axis->kind == AXIS_CHOICE && each >= 4) {
        for (size_t i = 0; i < axis->n_choices; i++) {
            size_t middle = a->column + (2 * i + 1) * a->columns / (2 * axis->n_choices), width;

            buf_clear(&text);
            add_number(&text, &axis->choices[i]);
            width = text.n < each - 1 ? text.n : each - 1;
            canvas_text(p->canvas, middle - width / 2, a->row + a->rows, each - 1, INK_DIM,
                        buf_text(&text));
        }
    } else if (axis->n_choices > 0) {
        add_number(&text, &axis->choices[0]);
        add_number(&high, &axis->choices[axis->n_choices - 1]);
        label_x(p, a, buf_text(&text), buf_text(&high), "");
    }
    buf_free(&text);
    buf_free(&high);
}

static void draw_strip(struct plot *p, const struct area *a, const char *param)
{
    struct axis axis;

    axis_of(&axis, p->aggregate, param, p->g->arena);
    for (size_t i = p->n_ranked; i-- > 0;) {
        double x = place_on(&axis, i);

        if (axis.kind == AXIS_CHOICE) /* spreads marks of a choice, always in the same way */
            x += (fmod((double)i * 0.618034, 1) - 0.5) * 0.4 / (double)axis.n_choices;
        mark(p, a, x, i);
    }
    head(p, a, param);
    label_strip(p, a, &axis);
}

/* Draws as many parameters as there is room for, the most important first. */
static void draw_strips(struct plot *p, size_t row, size_t rows, size_t columns)
{
    const struct list varying = aggregate_varying(p->aggregate);
    const struct param_importance *params = p->importance.importance.items;
    size_t n_params = p->has_importance ? p->importance.importance.n : varying.n;
    size_t n = (columns - LABEL_COLUMNS) / STRIP_COLUMNS, each;

    n = n < n_params ? n : n_params;
    if (n == 0)
        return;
    each = (columns - LABEL_COLUMNS) / n;
    for (size_t i = 0; i < n; i++) {
        const struct area a = { LABEL_COLUMNS + i * each, row, each - GAP_COLUMNS, rows };

        if (i == 0)
            label_y(p, &a, p->low, p->high, false);
        else
            canvas_axes(p->canvas, &a);
        draw_strip(p, &a,
                   p->has_importance ? params[i].param : ((const char *const *)varying.items)[i]);
    }
}

/* ---- all ---- */

/* "accuracy (high is good): best 0.968 ± 0.021 of 12 configurations, lr=0.01 momentum=0.9" */
static void draw_title(struct plot *p, size_t columns)
{
    const struct config_result *best = &p->aggregate->configs[0];
    const struct measure *m = aggregate_measure(best, p->metric);
    const struct list varying = aggregate_varying(p->aggregate);
    struct buf text = { 0 };

    buf_printf(&text, "%s (%s is good): best %.4g", p->aggregate->metrics[p->metric],
               p->goal == GOAL_MIN ? "low" : "high", m->last.mean);
    if (!isnan(m->last.std))
        buf_printf(&text, " %s %.2g", p->has_utf8 ? "±" : "+-", m->last.std);
    buf_printf(&text, " of %zu, %s", p->aggregate->n, best->param_name);
    for (size_t i = 0; i < varying.n; i++) {
        const char *name = ((const char *const *)varying.items)[i];
        const struct value *v = value_get(&best->params, name);

        if (v == NULL)
            continue;
        buf_printf(&text, " %s=", name);
        add_number(&text, v);
    }
    canvas_text(p->canvas, 0, 0, columns, INK_STRONG, buf_text(&text));
    buf_free(&text);
}

/* Draws the plot on a new canvas; shapes NULL: records nothing. */
static struct canvas *draw(struct gathered *g, size_t metric, const struct plot_size *size,
                           struct shapes *shapes)
{
    struct plot p = { .g = g,
                      .aggregate = g->aggregate,
                      .metric = metric,
                      .goal = aggregate_goal(g->aggregate, metric),
                      .has_utf8 = size->has_braille };
    size_t rows = size->rows > ROWS_LEAST ? size->rows : ROWS_LEAST, columns = size->columns;
    size_t rest = rows - ROWS_AROUND, curves = rest * 9 / 20, strips = rest * 3 / 10;
    size_t middle = rest - curves - strips;
    size_t right = columns / 4 > IMPORTANCE_COLUMNS ? columns / 4 : IMPORTANCE_COLUMNS;
    size_t left = columns - (right < columns / 2 ? right : columns / 2);
    const struct area first = { LABEL_COLUMNS, 2, columns - LABEL_COLUMNS, curves };
    const struct area second = { LABEL_COLUMNS, 4 + curves, left - LABEL_COLUMNS - GAP_COLUMNS,
                                 middle };
    const struct area third = { left, 4 + curves, columns - left, middle };
    struct err e = { 0 };

    while (p.n_ranked < p.aggregate->n && isfinite(mean_of(&p, p.n_ranked)))
        p.n_ranked++;
    choose_range(&p);
    p.has_importance = importance_of(&p.importance, p.aggregate, metric, g->arena, &e) == 0;
    p.canvas = canvas_create(columns, rows, size->has_braille);
    canvas_record(p.canvas, shapes);
    draw_title(&p, columns);
    draw_curves(&p, &first);
    draw_best_so_far(&p, &second);
    draw_importance(&p, &third);
    draw_strips(&p, 6 + curves + middle, strips, columns);
    return p.canvas;
}

void plot_add(struct buf *out, struct gathered *g, size_t metric, const struct plot_size *size)
{
    struct canvas *c = draw(g, metric, size, NULL);

    canvas_add(out, c, size->colours);
    canvas_destroy(c);
}

int plot_add_picture(struct buf *out, struct gathered *g, size_t metric, enum picture_form form,
                     struct err *e)
{
    const struct plot_size size = { .columns = 120, .rows = 50, .has_braille = true };
    struct shapes shapes = { 0 };
    int result;

    canvas_destroy(draw(g, metric, &size, &shapes));
    result = picture_add(out, &shapes, size.columns, size.rows, form, e);
    shapes_free(&shapes);
    return result;
}

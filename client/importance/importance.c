/* SPDX-License-Identifier: MIT */
/* importance.c - which parameters decide whether a configuration is among the best */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "client/importance/axis.h"
#include "client/importance/importance.h"
#include "client/importance/ped_anova.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/mem.h"
#include "common/proto/goal.h"

/* Cells of a range of numbers when it is looked at together with another parameter. */
enum { PAIR_CELLS_MIN = 2, PAIR_CELLS_MAX = 8 };
enum { BAR_COLUMNS_MAX = 40 };

static const struct field param_fields[] = {
    FIELD(struct param_importance, param, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct param_importance, importance, FIELD_FLOAT, 0, 0),
    FIELD(struct param_importance, n, FIELD_INT, 0, INT64_MAX),
};
const struct schema param_importance_schema =
    SCHEMA(struct param_importance, "param_importance", param_fields);

static const struct field pair_fields[] = {
    FIELD(struct pair_importance, params, FIELD_STRS, 0, 2),
    FIELD(struct pair_importance, importance, FIELD_FLOAT, 0, 0),
};
const struct schema pair_importance_schema =
    SCHEMA(struct pair_importance, "pair_importance", pair_fields);

static const struct field importance_fields[] = {
    FIELD(struct importance, metric, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD_NAMED(struct importance, goal, 0, goal_names, GOAL_COUNT),
    FIELD(struct importance, configs, FIELD_INT, 0, INT64_MAX),
    FIELD(struct importance, top, FIELD_INT, 0, INT64_MAX),
    FIELD_OF(struct importance, importance, FIELD_LIST, 0, INT64_MAX, &param_importance_schema),
    FIELD_OF(struct importance, pairs, FIELD_LIST, 0, INT64_MAX, &pair_importance_schema),
    FIELD(struct importance, left_out, FIELD_STRS, 0, INT64_MAX),
};
const struct schema importance_schema = SCHEMA(struct importance, "importance", importance_fields);

/* ---- the best ---- */

/* The configurations that have the metric, as indices into the aggregate. */
struct field_of_play {
    size_t *configs;
    bool *is_top; /* of each of these */
    size_t n, n_top;
};

/* The smaller the better; a mean that is nan is worse than any. */
static double cost_of(const struct measure *m, enum goal goal)
{
    if (isnan(m->last.mean))
        return (double)INFINITY;
    return goal == GOAL_MIN ? m->last.mean : -m->last.mean;
}

static void choose_top(struct field_of_play *f, const struct aggregate *g, size_t metric,
                       struct arena *a)
{
    enum goal goal = aggregate_goal(g, metric);
    double *costs, *sorted, limit;
    size_t n_wanted;

    f->configs = arena_alloc(a, (g->n + 1) * sizeof *f->configs);
    f->is_top = arena_alloc(a, (g->n + 1) * sizeof *f->is_top);
    costs = mem_alloc((g->n + 1) * sizeof *costs);
    sorted = mem_alloc((g->n + 1) * sizeof *sorted);
    for (size_t i = 0; i < g->n; i++) {
        const struct measure *m = aggregate_measure(&g->configs[i], metric);

        if (m == NULL)
            continue;
        f->configs[f->n] = i;
        costs[f->n] = sorted[f->n] = cost_of(m, goal);
        f->n++;
    }
    n_wanted = (f->n + 9) / 10;
    if (n_wanted < IMPORTANCE_TOP_MIN)
        n_wanted = f->n / 2 < IMPORTANCE_TOP_MIN ? f->n / 2 : IMPORTANCE_TOP_MIN;
    qsort(sorted, f->n, sizeof *sorted, stats_compare);
    limit = n_wanted > 0 ? sorted[n_wanted - 1] : (double)NAN;
    for (size_t i = 0; i < f->n; i++) {
        f->is_top[i] = costs[i] <= limit && isfinite(costs[i]);
        f->n_top += f->is_top[i];
    }
    free(costs);
    free(sorted);
}

/* ---- cells ---- */

/* Cells of a range; those of Optuna's evaluator. */
static size_t count_cells(const struct axis *axis)
{
    double n = PED_CELLS_MAX;

    if (axis->kind == AXIS_CHOICE)
        return axis->n_choices;
    if (axis->kind == AXIS_WHOLE)
        n = axis->is_log ? ceil(log2(axis->high - axis->low + 1)) + 1 : axis->high - axis->low + 1;
    return n < PED_CELLS_MAX ? (size_t)n : PED_CELLS_MAX;
}

/* The cell of a configuration; the middles of the first and the last one are low and high. */
static size_t cell_of(const struct axis *axis, size_t config, size_t n_cells)
{
    double fraction;
    double cell;

    if (axis->kind == AXIS_CHOICE)
        return axis->places[config];
    fraction = axis_fraction(axis, axis_number(&axis->choices[axis->places[config]]));
    cell = ceil(fraction * (double)(n_cells - 1) - 0.5);
    return cell <= 0 ? 0 : cell >= (double)n_cells ? n_cells - 1 : (size_t)cell;
}

/* The same where cells are equally wide, the first and the last one, too. */
static size_t wide_cell_of(const struct axis *axis, size_t config, size_t n_cells)
{
    double fraction;

    if (axis->kind == AXIS_CHOICE)
        return axis->places[config];
    fraction = axis_fraction(axis, axis_number(&axis->choices[axis->places[config]]));
    return fraction >= 1 ? n_cells - 1 : (size_t)(fraction * (double)n_cells);
}

/* ---- one parameter ---- */

/* Among the configurations that have the parameter; it counts by how many of all these are. */
static double divergence_of(const struct axis *axis, const struct field_of_play *f, int64_t *n_with)
{
    size_t n_cells = count_cells(axis), n_top = 0, n = 0;
    size_t *all = mem_alloc(2 * n_cells * sizeof *all), *top = all + n_cells;
    double divergence = 0;

    for (size_t i = 0; i < f->n; i++) {
        size_t cell;

        if (axis->places[f->configs[i]] == AXIS_NO_PLACE)
            continue;
        cell = cell_of(axis, f->configs[i], n_cells);
        all[cell]++;
        top[cell] += f->is_top[i];
        n++;
        n_top += f->is_top[i];
    }
    if (n_top > 1)
        divergence =
            ped_divergence(&(struct ped_counts){ all, top, n_cells, axis->kind != AXIS_CHOICE });
    free(all);
    *n_with = (int64_t)n;
    return divergence * (double)n / (double)f->n;
}

static int compare_params(const void *x, const void *y)
{
    double a = ((const struct param_importance *)x)->importance;
    double b = ((const struct param_importance *)y)->importance;

    return (a < b) - (a > b);
}

/* ---- two parameters ---- */

/* How many cells each of two parameters gets; false: there are too few configurations. */
static bool share_cells(const struct axis *x, const struct axis *y, size_t n, size_t *n1,
                        size_t *n2)
{
    const size_t most = n / IMPORTANCE_PAIR_CELL_MIN;

    *n1 = x->kind == AXIS_CHOICE ? x->n_choices : 0;
    *n2 = y->kind == AXIS_CHOICE ? y->n_choices : 0;
    if (*n1 == 0 && *n2 == 0)
        *n1 = *n2 = (size_t)floor(sqrt((double)most));
    else if (*n1 == 0)
        *n1 = most / *n2;
    else if (*n2 == 0)
        *n2 = most / *n1;
    if (x->kind != AXIS_CHOICE && *n1 > PAIR_CELLS_MAX)
        *n1 = PAIR_CELLS_MAX;
    if (y->kind != AXIS_CHOICE && *n2 > PAIR_CELLS_MAX)
        *n2 = PAIR_CELLS_MAX;
    return *n1 >= PAIR_CELLS_MIN && *n2 >= PAIR_CELLS_MIN && *n1 * *n2 <= most;
}

/* Sets *has_looked if there were configurations enough. */
static double interaction_of(const struct axis *x, const struct axis *y,
                             const struct field_of_play *f, bool *has_looked)
{
    size_t n = 0, n_top = 0, n1, n2, *all, *top;
    struct ped_interaction found;

    for (size_t i = 0; i < f->n; i++)
        if (x->places[f->configs[i]] != AXIS_NO_PLACE &&
            y->places[f->configs[i]] != AXIS_NO_PLACE) {
            n++;
            n_top += f->is_top[i];
        }
    if (n_top < IMPORTANCE_PAIR_TOP_MIN || !share_cells(x, y, n, &n1, &n2))
        return 0;
    *has_looked = true;
    all = mem_alloc(2 * n1 * n2 * sizeof *all);
    top = all + n1 * n2;
    for (size_t i = 0; i < f->n; i++) {
        size_t config = f->configs[i], cell;

        if (x->places[config] == AXIS_NO_PLACE || y->places[config] == AXIS_NO_PLACE)
            continue;
        cell = wide_cell_of(x, config, n1) * n2 + wide_cell_of(y, config, n2);
        all[cell]++;
        top[cell] += f->is_top[i];
    }
    found = ped_interaction(&(struct ped_counts){ all, top, n1 * n2, false }, n1, n2);
    free(all);
    return found.is_certain ? found.divergence * (double)n / (double)f->n : 0;
}

static int compare_pairs(const void *x, const void *y)
{
    double a = ((const struct pair_importance *)x)->importance;
    double b = ((const struct pair_importance *)y)->importance;

    return (a < b) - (a > b);
}

static void find_pairs(struct importance *out, const struct axis *axes, size_t n,
                       const struct field_of_play *f, double sum, struct arena *a)
{
    struct pair_importance *pairs = arena_alloc(a, (n * n / 2 + 1) * sizeof *pairs);

    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            double divergence = interaction_of(&axes[i], &axes[k], f, &out->has_pairs);
            const char **names;

            if (divergence <= 0)
                continue;
            names = arena_alloc(a, 2 * sizeof *names);
            names[0] = axes[i].name;
            names[1] = axes[k].name;
            pairs[out->pairs.n++] = (struct pair_importance){ { names, 2 }, divergence / sum };
        }
    qsort(pairs, out->pairs.n, sizeof *pairs, compare_pairs);
    out->pairs.items = pairs;
}

/* ---- all ---- */

int importance_of(struct importance *out, struct aggregate *g, size_t metric, struct arena *a,
                  struct err *e)
{
    const struct list names = aggregate_varying(g);
    struct axis *axes = arena_alloc(a, (names.n + 1) * sizeof *axes);
    struct param_importance *params = arena_alloc(a, (names.n + 1) * sizeof *params);
    const char **left_out = arena_alloc(a, (names.n + 1) * sizeof *left_out);
    struct field_of_play f = { 0 };
    size_t n = 0, n_left_out = 0;
    double sum = 0;

    choose_top(&f, g, metric, a);
    *out = (struct importance){ .metric = g->metrics[metric],
                                .goal = (int)aggregate_goal(g, metric),
                                .configs = (int64_t)f.n,
                                .top = (int64_t)f.n_top };
    if (f.n < IMPORTANCE_CONFIGS_MIN)
        return err_set(e, ERR_FAILED,
                       "importance takes at least %d configurations that are done and have "
                       "reported %s; there %s %zu",
                       IMPORTANCE_CONFIGS_MIN, g->metrics[metric], f.n == 1 ? "is" : "are", f.n);
    for (size_t i = 0; i < names.n; i++) {
        struct axis *axis = &axes[n];

        axis_of(axis, g, ((const char *const *)names.items)[i], a);
        if (axis->kind == AXIS_CHOICE && axis->n_choices > AXIS_CHOICES_MAX &&
            2 * axis->n_choices > axis->n_with) {
            left_out[n_left_out++] = axis->name;
            continue;
        }
        params[n].param = axis->name;
        params[n].importance = divergence_of(axis, &f, &params[n].n);
        sum += params[n++].importance;
    }
    if (f.n_top == f.n || !(sum > 0))
        return err_set(e, ERR_FAILED,
                       "no parameter tells the best of %zu configurations, by %s, from the others",
                       f.n, g->metrics[metric]);
    find_pairs(out, axes, n, &f, sum, a);
    for (size_t i = 0; i < n; i++)
        params[i].importance /= sum;
    qsort(params, n, sizeof *params, compare_params);
    out->importance = (struct list){ params, n };
    out->left_out = (struct list){ left_out, n_left_out };
    return 0;
}

/* ---- for people ---- */

static const char *const bars[2] = { "#", "\u2588" };

/* As many columns as the share of the most important one; none where that is less than half of one. */
static void add_bar(struct table *t, double importance, double most, size_t columns)
{
    size_t n = (size_t)(importance / most * (double)columns + 0.5);
    struct buf bar = { 0 };

    for (size_t i = 0; i < n; i++)
        buf_add_str(&bar, bars[output_has_utf8()]);
    table_add_buf(t, TONE_GOOD, &bar);
    buf_free(&bar);
}

static void add_params(struct buf *out, const struct importance *of, size_t columns, bool colour)
{
    static const struct column heads[] = { { "PARAMETER", false, true },
                                           { "IMPORTANCE", true, false },
                                           { "", false, false } };
    const struct param_importance *params = of->importance.items;
    struct table *t = table_create(heads, 3, columns, colour);
    size_t bar_columns = columns / 3 < BAR_COLUMNS_MAX ? columns / 3 : BAR_COLUMNS_MAX;

    for (size_t i = 0; i < of->importance.n; i++) {
        table_add(t, TONE_PLAIN, params[i].param);
        table_printf(t, TONE_PLAIN, "%.3f", params[i].importance);
        add_bar(t, params[i].importance, params[0].importance, bar_columns);
    }
    table_flush(t, out);
    table_destroy(t);
}

static void add_pairs(struct buf *out, const struct importance *of, size_t columns, bool colour)
{
    static const struct column heads[] = { { "PAIR", false, true },
                                           { "BEYOND EACH ALONE", true, false } };
    const struct pair_importance *pairs = of->pairs.items;
    struct table *t = table_create(heads, 2, columns, colour);

    for (size_t i = 0; i < of->pairs.n; i++) {
        const char *const *names = pairs[i].params.items;

        table_printf(t, TONE_PLAIN, "%s x %s", names[0], names[1]);
        table_printf(t, TONE_PLAIN, "%.3f", pairs[i].importance);
    }
    buf_add_char(out, '\n');
    table_flush(t, out);
    table_destroy(t);
}

void importance_add_text(struct buf *out, const struct importance *of, size_t columns, bool colour)
{
    const char *const *left_out = of->left_out.items;
    struct buf below = { 0 };

    add_params(out, of, columns, colour);
    if (of->pairs.n > 0)
        add_pairs(out, of, columns, colour);
    buf_printf(&below,
               "\nwhat tells the best %" PRId64 " of %" PRId64 " configurations, by mean %s (%s), "
               "from the others\n",
               of->top, of->configs, of->metric, of->goal == GOAL_MIN ? "lowest" : "highest");
    if (!of->has_pairs && of->importance.n > 1)
        buf_add_str(&below,
                    "too few configurations to tell what pairs of parameters do together\n");
    else if (of->pairs.n == 0 && of->importance.n > 1)
        buf_add_str(&below, "no pair of parameters does more together than chance would\n");
    for (size_t i = 0; i < of->left_out.n; i++)
        buf_printf(&below, "%s%s%s", i == 0 ? "left out: " : ", ", left_out[i],
                   i + 1 < of->left_out.n
                       ? ""
                       : ", of which almost every configuration has a value of its own\n");
    safe_text_add_harmless(out, buf_text(&below), below.n, "\n");
    buf_free(&below);
}

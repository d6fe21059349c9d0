/* SPDX-License-Identifier: MIT */
/* axis.c - what kind of values a parameter has in the configurations of a sweep */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/importance/axis.h"
#include "common/data/json.h"

/* From this ratio of the largest to the smallest on, a scale may be logarithmic. */
enum { LOG_RATIO_MIN = 10 };

double axis_number(const struct value *v)
{
    if (v->type == VALUE_INT)
        return (double)v->i;
    return v->type == VALUE_FLOAT ? v->f : (double)NAN;
}

double axis_fraction(const struct axis *axis, double x)
{
    double low = axis->low, high = axis->high;

    if (high <= low)
        return 0;
    if (axis->is_log)
        return (log(x) - log(low)) / (log(high) - log(low));
    /* Halves, as the difference of two finite numbers may not be finite. */
    return (x / 2 - low / 2) / (high / 2 - low / 2);
}

/* ---- the values, each once ---- */

struct entry {
    const struct value *value;
    double number;
    const char *text;
    size_t config;
};

static int compare_entries(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    bool a_counts = isfinite(a->number), b_counts = isfinite(b->number);

    if (a_counts != b_counts)
        return a_counts ? -1 : 1;
    if (a_counts)
        return (a->number > b->number) - (a->number < b->number);
    return strcmp(a->text, b->text);
}

static struct entry *list_entries(const struct aggregate *g, const char *name, struct arena *a,
                                  size_t *n)
{
    struct entry *entries = arena_alloc(a, (g->n + 1) * sizeof *entries);

    for (size_t i = 0; i < g->n; i++) {
        const struct value *v = value_get(&g->configs[i].params, name);
        struct buf text = { 0 };

        if (v == NULL)
            continue;
        entries[*n] = (struct entry){ v, axis_number(v), NULL, i };
        if (!isfinite(entries[*n].number)) {
            json_add_value(&text, v); /* with quotes: the text "1" is no number */
            entries[*n].text = buf_to_arena(&text, a);
        }
        ++*n;
    }
    qsort(entries, *n, sizeof *entries, compare_entries);
    return entries;
}

/* ---- the scale ---- */

/* Whether the middle one of the values lies nearer to the middle between low and high in a
 * logarithmic scale than in a linear one. */
static bool looks_logarithmic(const struct axis *axis)
{
    double middle, from_log, from_linear;
    struct axis log_axis = *axis, linear_axis = *axis;
    size_t n = axis->n_choices;

    if (n < 3 || axis->low <= 0 || axis->high / axis->low < LOG_RATIO_MIN)
        return false;
    middle = axis_number(&axis->choices[n / 2]);
    if (n % 2 == 0)
        middle = middle / 2 + axis_number(&axis->choices[n / 2 - 1]) / 2;
    log_axis.is_log = true;
    linear_axis.is_log = false;
    from_log = fabs(axis_fraction(&log_axis, middle) - 0.5);
    from_linear = fabs(axis_fraction(&linear_axis, middle) - 0.5);
    return from_log < from_linear;
}

void axis_of(struct axis *axis, const struct aggregate *g, const char *name, struct arena *a)
{
    size_t n = 0;
    struct entry *entries = list_entries(g, name, a, &n);
    struct value *choices = arena_alloc(a, (n + 1) * sizeof *choices);
    bool has_reals = false;

    *axis = (struct axis){ .name = name,
                           .is_numeric = n > 0,
                           .choices = choices,
                           .places = arena_alloc(a, (g->n + 1) * sizeof *axis->places),
                           .n_with = n };
    for (size_t i = 0; i < g->n; i++)
        axis->places[i] = AXIS_NO_PLACE;
    for (size_t i = 0; i < n; i++) {
        const struct value *v = entries[i].value;

        if (i == 0 || compare_entries(&entries[i - 1], &entries[i]) != 0)
            choices[axis->n_choices++] = *v;
        axis->places[entries[i].config] = axis->n_choices - 1;
        axis->is_numeric = axis->is_numeric && isfinite(entries[i].number);
        has_reals = has_reals || v->type == VALUE_FLOAT;
    }
    if (!axis->is_numeric)
        return;
    axis->low = entries[0].number;
    axis->high = entries[n - 1].number;
    axis->is_log = looks_logarithmic(axis);
    if (axis->n_choices > AXIS_CHOICES_MAX || (2 * axis->n_choices > n && axis->n_choices > 1))
        axis->kind = has_reals ? AXIS_REAL : AXIS_WHOLE;
}

/* SPDX-License-Identifier: MIT */
/* curves.c - series of many jobs, thinned so that they fit into a picture */
#include <math.h>
#include <stdlib.h>

#include "client/results/curves.h"

enum { POINTS_OF_ALL_MAX = 400 * 1000, POINTS_MIN = 32, POINTS_MAX = 512 };

void curves_init(struct curves *c, size_t n_series)
{
    size_t n = n_series > 0 ? POINTS_OF_ALL_MAX / n_series : POINTS_MAX;

    n = n < POINTS_MIN ? POINTS_MIN : n > POINTS_MAX ? POINTS_MAX : n;
    *c = (struct curves){ .points_max = n / 2 * 2 };
}

void curves_free(struct curves *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->items[i].points);
    free(c->items);
    *c = (struct curves){ 0 };
}

static double number_of(const struct value *v)
{
    return v->type == VALUE_INT ? (double)v->i : v->type == VALUE_FLOAT ? v->f : (double)NAN;
}

static void keep(struct curve *c, struct curve_point point)
{
    mem_grow((void **)&c->points, &c->capacity, c->n, sizeof *c->points);
    c->points[c->n++] = point;
}

/* first: index of the first curve of the job that is being read. */
struct reading {
    struct curves *curves;
    size_t first;
};

static int take(void *context, const struct series_point *point, struct err *e)
{
    struct reading *r = context;
    struct curve *c = &r->curves->items[r->first + point->metric];

    (void)e;
    c->last = (struct curve_point){ number_of(&point->step), number_of(&point->value) };
    if (c->n_seen++ % c->stride != 0)
        return 0;
    if (c->n == r->curves->points_max) {
        for (size_t i = 0; i < c->n / 2; i++)
            c->points[i] = c->points[2 * i];
        c->n /= 2;
        c->stride *= 2;
    }
    keep(c, c->last);
    return 0;
}

void curves_read(struct curves *c, size_t index, struct share_dir *fs, const struct job_result *job,
                 const char *const *metrics, size_t n)
{
    struct reading r = { c, c->n };
    const struct series_wanted wanted = { metrics, n, take, &r };
    size_t n_found = 0;

    for (size_t i = 0; i < n; i++) {
        mem_grow((void **)&c->items, &c->capacity, c->n, sizeof *c->items);
        c->items[c->n++] = (struct curve){ .job = index, .metric = i, .stride = 1 };
    }
    (void)series_read_job(fs, job, &wanted, NULL);
    for (size_t i = r.first; i < c->n; i++) {
        struct curve *curve = &c->items[i];

        if (curve->n_seen > 0 && (curve->n_seen - 1) % curve->stride != 0)
            keep(curve, curve->last);
        if (curve->n > 0)
            c->items[r.first + n_found++] = *curve;
    }
    c->n = r.first + n_found;
}

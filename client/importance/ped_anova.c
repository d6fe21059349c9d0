/* SPDX-License-Identifier: MIT */
/* ped_anova.c - Pearson divergences of the best configurations from all */
#include <math.h>
#include <stdlib.h>

#include "client/importance/ped_anova.h"
#include "common/base/mem.h"

/* Added to each density, so that nothing is divided by zero. */
static const double nearly_zero = 1e-12;
/* 90 % of a kernel that narrow lie in its own cell. */
static const double width_min = 0.5 / 1.64;

static size_t sum_of(const size_t *counts, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* ---- densities ---- */

/* The normal distribution's share between two points. */
static double share_between(double from, double to, double centre, double width)
{
    double scale = width * sqrt(2.0);
    double a = (from - centre) / scale, b = (to - centre) / scale;

    /* On the side where little is left, so that nothing cancels. */
    return a > 0 ? (erfc(a) - erfc(b)) / 2 : (erfc(-b) - erfc(-a)) / 2;
}

/* Adds a kernel that is cut at the ends of the cells. */
static void add_kernel(double *density, size_t n, double weight, double centre, double width)
{
    double inside = share_between(-0.5, (double)n - 0.5, centre, width);

    for (size_t i = 0; i < n; i++) {
        double middle = (double)i;

        density[i] += weight * share_between(middle - 0.5, middle + 0.5, centre, width) / inside;
    }
}

/* The cell in which the cumulated counts reach (or, at is_above, exceed) a number; the last one that
 * is not empty if they never do. */
static double cell_at(const size_t *counts, size_t n, size_t number, bool is_above)
{
    size_t sum = 0, last = 0;

    for (size_t i = 0; i < n; i++) {
        sum += counts[i];
        if (counts[i] == 0)
            continue;
        last = i;
        if (is_above ? sum > number : sum >= number)
            break;
    }
    return (double)last;
}

/* By D. W. Scott, Multivariate Density Estimation, 1992, from deviation or quartiles, whichever
 * says less. */
static double kernel_width(const size_t *counts, size_t n)
{
    double total = (double)sum_of(counts, n), mean = 0, squares = 0, deviation, quartiles, width;

    for (size_t i = 0; i < n; i++)
        mean += (double)counts[i] * (double)i / total;
    for (size_t i = 0; i < n; i++)
        squares += (double)counts[i] * ((double)i - mean) * ((double)i - mean);
    deviation = sqrt(squares / fmax(1, total - 1));
    quartiles = cell_at(counts, n, sum_of(counts, n) * 3 / 4, true) -
                cell_at(counts, n, sum_of(counts, n) / 4, false);
    width = 1.059 * fmin(quartiles / 1.34, deviation) * pow(total, -0.2);
    return fmax(width, width_min);
}

/* Of cells in an order. */
static void estimate_ordered(double *density, const size_t *counts, size_t n)
{
    double total = (double)sum_of(counts, n) + 1;
    double width = kernel_width(counts, n);

    for (size_t i = 0; i < n; i++)
        if (counts[i] > 0)
            add_kernel(density, n, (double)counts[i] / total, (double)i, width);
    add_kernel(density, n, 1 / total, ((double)n - 1) / 2, (double)n);
}

/* Of choices: a kernel gives each choice a little, and its own one the rest. */
static void estimate_choices(double *density, const size_t *counts, size_t n)
{
    double total = (double)sum_of(counts, n) + 1, n_cells = (double)n, n_kernels = 1, sum;

    for (size_t i = 0; i < n; i++)
        n_kernels += counts[i] > 0;
    sum = 1 + n_cells / n_kernels; /* of a kernel before it is scaled */
    for (size_t i = 0; i < n; i++)
        density[i] +=
            ((double)counts[i] + (total - 1) / n_kernels) / sum / total + 1 / total / n_cells;
}

double ped_divergence(const struct ped_counts *counts)
{
    void (*estimate)(double *, const size_t *, size_t) =
        counts->is_ordered ? estimate_ordered : estimate_choices;
    double *all = mem_alloc(counts->n * sizeof *all), *top = mem_alloc(counts->n * sizeof *top);
    double divergence = 0;

    if (counts->n > 1) {
        estimate(all, counts->all, counts->n);
        estimate(top, counts->top, counts->n);
    }
    for (size_t i = 0; i < counts->n && counts->n > 1; i++) {
        double p = all[i] + nearly_zero, off = (top[i] + nearly_zero) / p - 1;

        divergence += p * off * off;
    }
    free(all);
    free(top);
    return divergence;
}

/* ---- two parameters ---- */

/* Of the relative numbers as they are; cells where nothing lies say nothing. */
static double plain_divergence(const size_t *all, const size_t *top, size_t n, size_t *n_filled)
{
    double n_all = (double)sum_of(all, n), n_top = (double)sum_of(top, n), divergence = 0;

    *n_filled = 0;
    for (size_t i = 0; i < n; i++) {
        double p = (double)all[i] / n_all, off;

        if (all[i] == 0)
            continue;
        ++*n_filled;
        off = (double)top[i] / n_top / p - 1;
        divergence += p * off * off;
    }
    return divergence;
}

struct ped_interaction ped_interaction(const struct ped_counts *counts, size_t n1, size_t n2)
{
    size_t *sums = mem_alloc(2 * (n1 + n2) * sizeof *sums);
    size_t *all1 = sums, *top1 = all1 + n1, *all2 = top1 + n1, *top2 = all2 + n2;
    size_t n_filled, n_filled1, n_filled2, n_all = sum_of(counts->all, counts->n);
    size_t n_top = sum_of(counts->top, counts->n);
    struct ped_interaction result = { 0 };
    double n_free, unit;

    for (size_t i = 0; i < n1; i++)
        for (size_t k = 0; k < n2; k++) {
            all1[i] += counts->all[i * n2 + k];
            top1[i] += counts->top[i * n2 + k];
            all2[k] += counts->all[i * n2 + k];
            top2[k] += counts->top[i * n2 + k];
        }
    if (n_top > 0) {
        result.divergence = plain_divergence(counts->all, counts->top, counts->n, &n_filled) -
                            plain_divergence(all1, top1, n1, &n_filled1) -
                            plain_divergence(all2, top2, n2, &n_filled2);
        /* If the best ones were drawn from all by chance, this would be distributed as chi squared
         * with so many degrees of freedom, in units of: */
        n_free = (double)n_filled - (double)n_filled1 - (double)n_filled2 + 1;
        n_free = fmax(n_free, 1);
        unit = (1 / (double)n_top) * (1 - (double)n_top / (double)n_all);
        result.divergence -= n_free * unit;
        result.is_certain = result.divergence > 2 * sqrt(2 * n_free) * unit;
    }
    free(sums);
    return result;
}

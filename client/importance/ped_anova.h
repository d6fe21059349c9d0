/* SPDX-License-Identifier: MIT */
/*
 * ped_anova.h - how much the values of one parameter decide whether a configuration is a good one
 *
 * S. Watanabe, A. Bansal, F. Hutter: "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance
 * in Arbitrary Subspaces", IJCAI 2023, arXiv:2304.10255.  The variance over one parameter of "this
 * configuration is among the best" is, but for a factor that is the same for all parameters, the
 * Pearson divergence (theorem 1 there)
 *
 *     D(p_top || p_all) = sum over values x of p_all(x) * (p_top(x) / p_all(x) - 1)^2
 *
 * of the densities of the parameter among the best configurations and among all.  For two parameters
 * together the same holds for the joint density; that variance less the variances of each alone is
 * their interaction, as in every functional ANOVA.
 *
 * Densities are kernel estimates over the cells of a histogram, with one further observation that is
 * spread over all cells.  Kernels, their width (Scott's rule) and the numbers of cells are those of
 * Optuna's PedAnovaImportanceEvaluator, so that both give the same numbers for the same data.
 */
#ifndef LUDWIG_CLIENT_IMPORTANCE_PED_ANOVA_H
#define LUDWIG_CLIENT_IMPORTANCE_PED_ANOVA_H

#include <stdbool.h>
#include <stddef.h>

/* Cells of a range of numbers. */
enum { PED_CELLS_MAX = 50 };

/* How many configurations lie in each of n cells. */
struct ped_counts {
    const size_t *all, *top;
    size_t n;
    bool is_ordered; /* the cells are those of a range, neighbours alike; else they are choices */
};

/* The Pearson divergence of the densities of top and all; 0 if there is only one cell. */
double ped_divergence(const struct ped_counts *counts);

/* An interaction of two parameters, from a table of counts without kernels. */
struct ped_interaction {
    double
        divergence; /* of both together, less those of each alone and what chance adds on average */
    bool is_certain; /* the divergence is more than twice the deviation by chance */
};

/* counts: n1 rows of n2 cells. */
struct ped_interaction ped_interaction(const struct ped_counts *counts, size_t n1, size_t n2);

#endif

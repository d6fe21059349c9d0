/* SPDX-License-Identifier: MIT */
/*
 * fisher.h - Fisher's exact test of a table of two rows and two columns
 *
 *                 failed   did not
 *     with           a        b
 *     without        c        d
 *
 * R. A. Fisher, Statistical Methods for Research Workers, section 21.02 (since the 5th edition,
 * 1934): given the sums of rows and columns, and if failing has nothing to do with the rows, the
 * number in the first cell has the hypergeometric distribution
 *
 *     P(x) = (a+b)! (c+d)! (a+c)! (b+d)! / (n! x! (a+b-x)! (a+c-x)! (d-a+x)!)
 */
#ifndef LUDWIG_COMMON_STATS_FISHER_H
#define LUDWIG_COMMON_STATS_FISHER_H

#include <stdint.h>

/* The probability of a or more in the first cell (one-sided).  The numbers are not negative. */
double fisher_more(int64_t a, int64_t b, int64_t c, int64_t d);

/* Bonferroni's bound, at most 1, for p, the least of n_tests such probabilities. */
double fisher_of_many(double p, int64_t n_tests);

#endif

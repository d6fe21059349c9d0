/* SPDX-License-Identifier: MIT */
/* fisher.c - Fisher's exact test */

#include "common/stats/fisher.h"

#include <math.h>

static double log_factorial(int64_t n)
{
    return lgamma((double)n + 1);
}

/* P of the table's first cell; ratio gives the factor from there to P of one more in the cell. */
static double probability(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return exp(log_factorial(a + b) + log_factorial(c + d) + log_factorial(a + c) +
               log_factorial(b + d) - log_factorial(a + b + c + d) - log_factorial(a) -
               log_factorial(b) - log_factorial(c) - log_factorial(d));
}

static double ratio(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (double)b * (double)c / ((double)(a + 1) * (double)(d + 1));
}

/* fisher_more for a table whose first cell has more than chance gives it: terms only decrease. */
static double upper_tail(int64_t a, int64_t b, int64_t c, int64_t d)
{
    double term = probability(a, b, c, d), sum = 0;

    for (; b >= 0 && c >= 0 && term > sum * 1e-17; a++, b--, c--, d++) {
        sum += term;
        term *= ratio(a, b, c, d);
    }
    return sum;
}

/* If the first cell has less than chance gives it, the columns are swapped: one minus the
 * probability of at most a - 1. */
double fisher_more(int64_t a, int64_t b, int64_t c, int64_t d)
{
    double p;

    if ((double)a * (double)d > (double)b * (double)c)
        p = upper_tail(a, b, c, d);
    else
        p = a == 0 || d == 0 ? 1 : 1 - upper_tail(b + 1, a - 1, d - 1, c + 1);
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

double fisher_of_many(double p, int64_t n_tests)
{
    double bound = p * (double)(n_tests > 1 ? n_tests : 1);

    return bound < 1 ? bound : 1;
}

/* SPDX-License-Identifier: MIT */
/* student.c - Student's distribution of t */
#include <float.h>
#include <math.h>

#include "common/stats/student.h"

/* lgamma sets a variable of the process; lgamma_r is not everywhere.  Lanczos' sum with g = 7 and 9
 * terms (coefficients of P. Godfrey, 2001), good to 15 digits for x above 0.5. */
static double log_gamma(double x)
{
    static const double terms[] = { 0.99999999999980993,  676.5203681218851,
                                    -1259.1392167224028,  771.32342877765313,
                                    -176.61502916214059,  12.507343278686905,
                                    -0.13857109526572012, 9.9843695780195716e-6,
                                    1.5056327351493116e-7 };
    double sum = terms[0], t = x + 6.5;

    for (int i = 1; i < 9; i++)
        sum += terms[i] / (x - 1 + i);
    return 0.91893853320467274 + (x - 0.5) * log(t) - t + log(sum); /* log(2 pi) / 2 */
}

/* The continued fraction of the incomplete beta function, by Lentz's method; x < (a + 1) / (a + b + 2). */
static double fraction(double x, double a, double b)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;

    for (int i = 1; i < 10000; i++) {
        double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
        double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));

        d = 1 / (1 + even * d);
        c = 1 + even / c;
        f *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        f *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON)
            break;
    }
    return f;
}

static double incomplete_beta(double x, double a, double b)
{
    double factor;

    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    factor = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? factor * fraction(x, a, b) / a
                                     : 1 - factor * fraction(1 - x, b, a) / b;
}

double student_more(double t, double df)
{
    double p = incomplete_beta(df / (df + t * t), df / 2, 0.5) / 2;

    return t < 0 ? 1 - p : p;
}

double student_limit(double p, double df)
{
    double low = 0, high = 1;

    while (student_more(high, df) > p)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;

        if (student_more(mid, df) > p)
            low = mid;
        else
            high = mid;
    }
    return high;
}

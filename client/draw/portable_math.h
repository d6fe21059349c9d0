/* SPDX-License-Identifier: MIT */
/*
 * portable_math.h - mathematical functions with the same results on every machine
 *
 * IEEE 754 fixes the results of + - * / and sqrt, but not those of a C library's exp, log and pow.
 * The functions here compute with whole numbers, 192 binary digits behind the point, of which the
 * last 16 are wrong at worst, and round once to a double.  So every machine gives the same bits.
 * Results are also the nearest doubles: of all doubles, the one whose exp or log lies closest to
 * the middle between two doubles differs from it within 120 digits (V.  Lefèvre, J.-M.  Muller,
 * "Worst cases for correct rounding of the elementary functions in double precision", ARITH 15,
 * 2001).
 *
 * A number computed in a few steps has noise in its last digits: 3 * 0.1 is
 * 0.30000000000000004.  A double keeps any 15 digits, so computed values are
 * rounded to 15: users get the value they meant (0.3), and equal configurations
 * stay equal.
 */
#ifndef LUDWIG_CLIENT_DRAW_PORTABLE_MATH_H
#define LUDWIG_CLIENT_DRAW_PORTABLE_MATH_H

#include <stddef.h>

double portable_exp(double x);
double portable_exp10(double x); /* 10 to the power of x */
double portable_log(double x);   /* 0 < x */

/* Calls each with n numbers, 10^first, ..., 10^last, whose logarithms are evenly spaced, each
 * rounded as by portable_round: to infinity or 0 when beyond the doubles. */
void portable_logspace(double first, double last, size_t n,
                       void (*each)(void *context, size_t i, double x), void *context);

/* Rounds correctly to 15 significant digits; never -0.0. */
double portable_round(double x);
double portable_round_to(double x, int digits); /* to so many digits, 15 at most */
/*
 * Rounds to 15 digits of x or, if that is coarser, to the place of the 15th digit of scale: the
 * difference of numbers as large as scale is no more exact.  So -0.3 + 3 * 0.1 becomes 0.
 */
double portable_round_beside(double x, double scale);

#endif

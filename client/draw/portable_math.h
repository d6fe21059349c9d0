/* SPDX-License-Identifier: MIT */
/*
 * portable_math.h - computed numbers that are the same on every machine
 *
 * IEEE 754 fixes what + - * / and sqrt give, but not what a C library's exp, log and
 * pow give.  Those here are computed with whole numbers, 192 binary digits behind the point,
 * the last 16 of them wrong at worst, and rounded once to a double.  So every machine gives the
 * same bits.  They are also the nearest doubles: of all doubles, the one
 * whose exp or log lies closest to the middle between two doubles is told from it by 120 digits
 * (V. Lefèvre, J.-M. Muller, "Worst cases for correct rounding of the elementary functions in
 * double precision", ARITH 15, 2001).
 *
 * A number that a few such steps made carries noise in its last digits:
 * 3 * 0.1 is 0.30000000000000004.  A double keeps any 15 digits, so whatever was
 * computed is rounded to 15: what people meant comes out (0.3), and equal
 * configurations stay equal.
 */
#ifndef LUDWIG_CLIENT_DRAW_PORTABLE_MATH_H
#define LUDWIG_CLIENT_DRAW_PORTABLE_MATH_H

#include <stddef.h>

double portable_exp(double x);
double portable_exp10(double x); /* 10 to the power of x */
double portable_log(double x);   /* 0 < x */

/* Hands over n numbers, 10^first, ..., 10^last, whose logarithms are evenly spaced, each rounded as
 * portable_round does: to infinity or 0 when they are no doubles. */
void portable_logspace(double first, double last, size_t n,
                       void (*each)(void *context, size_t i, double x), void *context);

/* To 15 significant digits, correctly; never -0.0. */
double portable_round(double x);
/*
 * To the place of the 15th digit of scale, where that is the larger one: of a difference between
 * numbers as large as scale no more is known, so that -0.3 + 3 * 0.1 is 0.
 */
double portable_round_beside(double x, double scale);

#endif

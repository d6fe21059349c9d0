/* SPDX-License-Identifier: MIT */
/*
 * portable_math.h - computed numbers that are the same on every machine
 *
 * IEEE 754 fixes what + - * / and sqrt give, but not what a C library's exp, log and
 * pow give.  MPFR's do not depend on the machine: they are correctly rounded.
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

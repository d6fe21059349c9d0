/* SPDX-License-Identifier: MIT */
/*
 * student.h - Student's distribution of t
 *
 * By the incomplete beta function: P(T > t) = I_x(df / 2, 1 / 2) / 2 with x = df / (df + t^2), for t
 * not below 0 (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1 and 26.5.8).
 */
#ifndef LUDWIG_COMMON_STATS_STUDENT_H
#define LUDWIG_COMMON_STATS_STUDENT_H

/* The probability of a value above t by chance.  df, the degrees of freedom, is at least 1. */
double student_more(double t, double df);

/* The t, not below 0, above which a value lies by chance with probability p, which is 0 < p <= 0.5. */
double student_limit(double p, double df);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * axis.h - what kind of values a parameter has in the configurations of a sweep
 *
 * The sweep file does not decide, as results may be of several sweeps.  The values themselves show
 * whether a parameter was drawn from a range, linear or logarithmic, or chosen from a few.
 */
#ifndef LUDWIG_CLIENT_IMPORTANCE_AXIS_H
#define LUDWIG_CLIENT_IMPORTANCE_AXIS_H

#include "client/results/aggregate.h"

enum axis_kind {
    AXIS_CHOICE, /* a few values, or values that are no numbers */
    AXIS_WHOLE,  /* many whole numbers */
    AXIS_REAL    /* many numbers */
};

/* Numbers are choices if they have at most so many values, each twice on average. */
enum { AXIS_CHOICES_MAX = 10 };

#define AXIS_NO_PLACE SIZE_MAX

struct axis {
    const char *name;
    enum axis_kind kind;
    bool is_log;                 /* numbers, also choices, have a logarithmic scale */
    bool is_numeric;             /* every value is a finite number */
    double low, high;            /* the least and the greatest number */
    const struct value *choices; /* each value once: numbers by size, then others by their text */
    size_t n_choices;
    size_t *places; /* of each configuration, the index of its value; AXIS_NO_PLACE: it has none */
    size_t n_with;  /* configurations that have the parameter */
};

/* Fills *axis for the parameter name from the configurations of g; what it points to lives in a. */
void axis_of(struct axis *axis, const struct aggregate *g, const char *name, struct arena *a);

/* Where the number lies between low and high, 0 to 1, in the axis's scale. */
double axis_fraction(const struct axis *axis, double x);

double axis_number(const struct value *v); /* NAN if v is not a number */

#endif

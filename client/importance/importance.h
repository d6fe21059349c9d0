/* SPDX-License-Identifier: MIT */
/*
 * importance.h - which parameters decide whether a configuration is among the best
 *
 * PED-ANOVA (ped_anova.h) is computed over the means of a measure.  The best are a tenth of the
 * configurations that have the measure, but at least IMPORTANCE_TOP_MIN or half of them.  A
 * configuration whose mean is nan is among the worst.
 */
#ifndef LUDWIG_CLIENT_IMPORTANCE_IMPORTANCE_H
#define LUDWIG_CLIENT_IMPORTANCE_IMPORTANCE_H

#include "client/results/aggregate.h"

enum {
    IMPORTANCE_CONFIGS_MIN = 4,
    IMPORTANCE_TOP_MIN = 5,
    /* Pairs of parameters are looked at if so many configurations are among the best, and each pair
     * of values has so many configurations on average. */
    IMPORTANCE_PAIR_TOP_MIN = 10,
    IMPORTANCE_PAIR_CELL_MIN = 5
};

/* JSON has these members under the same names (docs/json.md). */
struct param_importance {
    const char *param;
    double importance; /* a share: those of all parameters add up to 1 */
    int64_t n;         /* configurations that have the parameter, which are compared */
};

struct pair_importance {
    struct list params; /* const char *, two */
    double importance;  /* beyond that of each alone, in the same unit */
};

struct importance {
    const char *metric;
    int goal; /* enum goal */
    int64_t configs, top;
    struct list importance; /* struct param_importance, the most important first */
    struct list pairs;      /* struct pair_importance beyond chance, the most important first */
    bool has_pairs;         /* there were enough configurations to look at pairs */
    struct list left_out;   /* const char *: parameters whose values are nearly all different */
};

extern const struct schema importance_schema, param_importance_schema, pair_importance_schema;

/* Fills *out for the parameters that differ between configurations; it lives in a.  ERR_FAILED if
 * too few configurations have the metric, or all are equally good. */
int importance_of(struct importance *out, struct aggregate *g, size_t metric, struct arena *a,
                  struct err *e);

/* Appends the importance as text for people, in lines of at most so many columns. */
void importance_add_text(struct buf *out, const struct importance *of, size_t columns, bool colour);

#endif

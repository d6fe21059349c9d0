/* SPDX-License-Identifier: MIT */
/*
 * importance.h - which parameters decide whether a configuration is among the best
 *
 * By PED-ANOVA (ped_anova.h) over the means of a measure.  The best are a tenth of the configurations
 * that have the measure, but at least IMPORTANCE_TOP_MIN or half of them.  One whose mean is nan is
 * among the worst.
 */
#ifndef LUDWIG_CLIENT_IMPORTANCE_IMPORTANCE_H
#define LUDWIG_CLIENT_IMPORTANCE_IMPORTANCE_H

#include "client/results/aggregate.h"

enum {
    IMPORTANCE_CONFIGS_MIN = 4,
    IMPORTANCE_TOP_MIN = 5,
    /* Pairs are looked at if that many are among the best, and with so many configurations on
     * average for each pair of values. */
    IMPORTANCE_PAIR_TOP_MIN = 10,
    IMPORTANCE_PAIR_CELL_MIN = 5
};

/* The members with an equal name are in JSON (docs/json.md). */
struct param_importance {
    const char *param;
    double importance; /* of all parameters together 1 */
    int64_t n;         /* configurations that have the parameter; it is compared among these */
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
    struct list pairs;      /* struct pair_importance that are more than chance, the same */
    bool has_pairs;         /* there were configurations enough to look at one */
    struct list left_out;   /* const char *: almost every configuration has a value of its own */
};

extern const struct schema importance_schema, param_importance_schema, pair_importance_schema;

/* Of the parameters that differ between configurations; lives in a.  ERR_FAILED: too few of them have
 * the metric, or all are equally good. */
int importance_of(struct importance *out, struct aggregate *g, size_t metric, struct arena *a,
                  struct err *e);

/* Appends it for people, in lines of at most so many columns. */
void importance_add_text(struct buf *out, const struct importance *of, size_t columns, bool colour);

#endif

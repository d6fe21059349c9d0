/* SPDX-License-Identifier: MIT */
/*
 * results_out.h - chooses the measures of a sweep to show, and prints a table, JSON or CSV
 */
#ifndef LUDWIG_CLIENT_RESULTS_RESULTS_OUT_H
#define LUDWIG_CLIENT_RESULTS_RESULTS_OUT_H

#include "client/results/aggregate.h"

/* The part of an aggregate that is shown. */
struct results_view {
    struct aggregate *aggregate;
    size_t *metrics; /* indices of the metrics to show, in this order */
    size_t n_metrics;
    struct list varying; /* const char *: names of the parameters to show */
    bool in_detail;      /* with median and quartiles */
    bool is_grouped;     /* by aggregate_group: configurations are not named beside parameters */
    int ranked_by;       /* index of the metric that ranks, -1: none */
    int64_t best;        /* index of the configuration that is marked, -1: none */
    size_t n;            /* how many configurations to show, from the first on */
    size_t *n_cells;     /* the number of cells of the table is added to it; may be NULL */
};

/* Options of the command line; NULL or empty: not given. */
struct measures_said {
    const char *sort, *goal; /* --sort, --goal */
    struct list shown;       /* --metric: const char *, "accuracy,loss" */
};

/* Finds the index of the measure that ranks, -1 when none does: from --sort or results: of the
 * sweep, else the first of --metric, else a guess.  Sets its goal in the aggregate, which has all
 * results. */
int measures_rank(struct aggregate *g, const struct measures_said *said,
                  const struct ranking *results, struct arena *a, int *ranked_by, struct err *e);
/* Fills v->metrics, in a, and v->in_detail: the measures of --metric, else all, with the one that
 * ranks at the beginning. */
int measures_choose(struct results_view *v, const struct measures_said *said, struct arena *a,
                    struct err *e);
/* "--OPTION: no job reported 'NAME'", with a list of reported names.  Always -1. */
int measures_refuse(const struct aggregate *g, enum err_kind kind, const char *option,
                    const char *name, struct err *e);

/* Appends the table, cut to this many columns, and the names of columns left out; SIZE_MAX: the
 * whole table, with all digits of parameters. */
void results_add_table(struct buf *out, const struct results_view *v, size_t columns, bool colour);
int results_write_json(const struct results_view *v, struct err *e);
int results_write_csv(const struct results_view *v, struct err *e);

/* The JSON of a configuration, and of each of its measures (docs/json.md). */
const struct schema *results_schema(void);
extern const struct schema measure_schema;

#endif

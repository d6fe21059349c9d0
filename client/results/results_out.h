/* SPDX-License-Identifier: MIT */
/*
 * results_out.h - which measures of a sweep are shown, as a table, as JSON and as CSV
 */
#ifndef LUDWIG_CLIENT_RESULTS_RESULTS_OUT_H
#define LUDWIG_CLIENT_RESULTS_RESULTS_OUT_H

#include "client/results/aggregate.h"

/* What of an aggregate is shown. */
struct results_view {
    struct aggregate *aggregate;
    size_t *metrics; /* indices of those that are shown, in this order */
    size_t n_metrics;
    struct list varying; /* const char *: names of the parameters that are shown */
    bool in_detail;      /* with median and quartiles */
    int ranked_by;       /* index of the metric that counts, -1: none does */
    int64_t best;        /* index of the configuration that is marked, -1: none */
    size_t n;            /* so many configurations, from the first */
    size_t *n_cells;     /* how many cells of a table were made, is added here; NULL: nobody asks */
};

/* What the command line says; NULL or empty: nothing. */
struct measures_said {
    const char *sort, *goal; /* --sort, --goal */
    struct list shown;       /* --metric: const char *, "accuracy,loss" */
};

/* The index of the measure that ranks, -1 when none does: what was said, by --sort or by results:
 * of the sweep, else the first that is to be shown, else a guess.  The aggregate, which has all
 * results, learns its goal. */
int measures_rank(struct aggregate *g, const struct measures_said *said,
                  const struct ranking *results, struct arena *a, int *ranked_by, struct err *e);
/* Fills v->metrics, in a, and v->in_detail: those that were said, else all, the one that ranks
 * first. */
int measures_choose(struct results_view *v, const struct measures_said *said, struct arena *a,
                    struct err *e);
/* "--OPTION: no job reported 'NAME'", with those there are.  Always -1. */
int measures_refuse(const struct aggregate *g, enum err_kind kind, const char *option,
                    const char *name, struct err *e);

/* Appends the table: as much of it as fits into so many columns, and what does not; SIZE_MAX: all,
 * with all digits of parameters. */
void results_add_table(struct buf *out, const struct results_view *v, size_t columns, bool colour);
int results_write_json(const struct results_view *v, struct err *e);
int results_write_csv(const struct results_view *v, struct err *e);

/* The JSON of a configuration, and of each of its measures (docs/json.md). */
const struct schema *results_schema(void);
extern const struct schema measure_schema;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * results_out.h - the results of a sweep as a table, as JSON and as CSV
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

/* Appends the table: as much of it as fits into so many columns, and what does not; SIZE_MAX: all,
 * with all digits of parameters. */
void results_add_table(struct buf *out, const struct results_view *v, size_t columns, bool colour);
int results_write_json(const struct results_view *v, struct err *e);
int results_write_csv(const struct results_view *v, struct err *e);

/* The JSON of a configuration, and of each of its measures (docs/json.md). */
extern const struct schema result_schema, measure_schema;

#endif

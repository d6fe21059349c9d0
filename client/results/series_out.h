/* SPDX-License-Identifier: MIT */
/*
 * series_out.h - the series of a measure, of all jobs of a sweep, on stdout
 */
#ifndef LUDWIG_CLIENT_RESULTS_SERIES_OUT_H
#define LUDWIG_CLIENT_RESULTS_SERIES_OUT_H

#include "client/results/series.h"
#include "common/proto/proto.h"

struct series_out;

/* varying: names (const char *) of the parameters that get a column; json: objects instead. */
struct series_out *series_out_begin(struct sharefs *fs, const char *metric,
                                    const struct list *varying, bool json);
/* It will be added soon. */
void series_out_ahead(struct series_out *o, const struct job_result *r);
/* Reads and writes the series of a job, if it is done. */
int series_out_add(struct series_out *o, const struct job_result *r, struct err *e);
/* Says which jobs had none. */
int series_out_end(struct series_out *o, struct err *e);
/* Whether jobs were added that are done, and none has such a series: nothing is written yet. */
bool series_out_is_empty(const struct series_out *o);
void series_out_free(struct series_out *o); /* NULL is fine */

#endif

/* SPDX-License-Identifier: MIT */
/* metric_line.h - a line that a job reports: {"accuracy": 0.9, "step": 3} */
#ifndef LUDWIG_COMMON_PROTO_METRIC_LINE_H
#define LUDWIG_COMMON_PROTO_METRIC_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/data/value.h"

/* Begins the reason of an attempt that is done where some of what it reported was not taken. */
#define METRICS_LEFT_OUT "not taken as measures: "

/* Gets a metric's name, which has n bytes, its value and its step (SCHEMA_NONE: none). */
typedef void (*metric_line_fn)(void *context, const char *name, size_t n, double value,
                               int64_t step);

/* Whether v is a number, or text that is one, as json.dumps(..., default=str) writes it. */
bool metric_number(const struct value *v, double *number);

/* The value called name in the map of a line; "val/acc" is also acc in the map val.  NULL: none. */
const struct value *metric_value(const struct value *map, const char *name);

/* Whether the first row of a CSV file, whose name has the measure's n bytes before ".csv", says that
 * its columns are a step and the measure.  Two columns alone do not: id,label are predictions. */
bool metric_csv_has_step(const char *first, const char *second, const char *measure, size_t n);

/* Calls take for each number in the map except step, and in maps within it, as "val/acc".  In a line
 * with job, as in a batch, job, done and failed tell which job it is about, and are no metrics. */
void metric_line_each(const struct value *map, metric_line_fn take, void *context);

#endif

/* SPDX-License-Identifier: MIT */
/* metric_line.h - a line that a job reports: {"accuracy": 0.9, "step": 3} */
#ifndef LUDWIG_COMMON_PROTO_METRIC_LINE_H
#define LUDWIG_COMMON_PROTO_METRIC_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/data/value.h"

/* Gets a metric's name, which has n bytes, its value and its step (SCHEMA_NONE: none). */
typedef void (*metric_line_fn)(void *context, const char *name, size_t n, double value,
                               int64_t step);

/* Calls take for each number in the map except step, job, done and failed.  (In a batch, job, done
 * and failed tell which job a line is about.) */
void metric_line_each(const struct value *map, metric_line_fn take, void *context);

#endif

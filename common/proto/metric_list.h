/* SPDX-License-Identifier: MIT */
/* metric_list.h - the metrics that a job has reported, by name */
#ifndef LUDWIG_COMMON_PROTO_METRIC_LIST_H
#define LUDWIG_COMMON_PROTO_METRIC_LIST_H

#include "common/base/mem.h"
#include "common/proto/jobspec.h"

struct metric_list {
    struct arena *arena; /* holds items and names */
    struct metric *items;
    size_t n, capacity;
    size_t
        next; /* behind the one that was found last: lines name the same ones in the same order */
};

/* Returns the metric whose name has n bytes, a new one, without any value, if there is none.  NULL:
 * it cannot be a metric's name, or the list has METRICS_MAX. */
struct metric *metric_list_take(struct metric_list *l, const char *name, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/* metric_line.c - reads the metrics from a line that a job reports */
#include "common/proto/metric_line.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/data/schema.h"

void metric_line_each(const struct value *map, metric_line_fn take, void *context)
{
    static const char *const reserved[] = { "step", "job", "done", "failed" };
    const struct value *at = value_get(map, "step");
    int64_t step = SCHEMA_NONE;

    if (at != NULL && at->type == VALUE_INT)
        step = at->i;
    else if (at != NULL && at->type == VALUE_FLOAT && at->f == floor(at->f) && fabs(at->f) < 0x1p53)
        step = (int64_t)at->f;
    for (size_t i = 0; i < map->map.n; i++) {
        const struct value *key = &map->map.members[i].key;
        const struct value *v = &map->map.members[i].value;
        bool is_measure = v->type == VALUE_INT || v->type == VALUE_FLOAT;

        for (size_t k = 0; k < sizeof reserved / sizeof reserved[0]; k++)
            is_measure &= key->str.n != strlen(reserved[k]) ||
                          memcmp(key->str.s, reserved[k], key->str.n) != 0;
        if (is_measure)
            take(context, key->str.s, key->str.n, v->type == VALUE_INT ? (double)v->i : v->f, step);
    }
}

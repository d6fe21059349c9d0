/* SPDX-License-Identifier: MIT */
/*
 * usage.h - usage of sweeps, added up by user
 */
#ifndef LUDWIG_CLIENT_QUERY_USAGE_H
#define LUDWIG_CLIENT_QUERY_USAGE_H

#include "common/proto/proto.h"

/* Usage added up over sweeps (docs/json.md). */
struct usage_sum {
    const char *user; /* NULL: all users */
    int64_t sweeps;
    int64_t attempts;
    double hours, cpu_hours, gpu_hours, busy_cpu_hours;
};
extern const struct schema usage_sum_schema;

/* Zero-initialised is empty. */
struct usage_sums {
    struct usage_sum total;
    struct usage_sum *users; /* in the order they were added */
    size_t n, capacity;
};

/* Adds a row to its user's sum and the total; the user's name is copied into a. */
void usage_add(struct usage_sums *s, const struct usage_info *row, struct arena *a);
/* Sorts the users, most CPU-hours first. */
void usage_sort(struct usage_sums *s);
void usage_free(struct usage_sums *s);

/* "7d" before now, or a day or moment: 2026-11-21, 2026-11-21 10:15 (local time), or RFC 3339. */
int usage_parse_since(const char *text, int64_t now_ms, int64_t *since_ms, struct err *e);

#endif

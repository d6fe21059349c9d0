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
    double hours, cpu_hours, gpu_hours, busy_cpu_hours, pilot_cpu_hours, pilot_gpu_hours;
    int64_t max_rss_bytes;    /* the largest of all sweeps */
    int64_t gpu_memory_bytes; /* the largest of all sweeps */
    double seen_gpu_hours, busy_gpu_hours;
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

/* What the ended attempts of a sweep, or of all sweeps of a user, asked for, and how much of that
 * they did not use (docs/json.md). */
struct usage_waste {
    int64_t sweep; /* SCHEMA_NONE: all sweeps of the user */
    const char *project, *name, *user;
    int64_t sweeps, attempts;
    double cpu_hours, unused_cpu_hours;
    double memory_gib_hours, unused_memory_gib_hours;
    double limit_hours, unused_limit_hours;
    int64_t max_rss_bytes;
    double waste; /* the order: unused CPU-hours, where 4 unused GiB-hours count as one */
};
extern const struct schema usage_waste_schema;

/* Zero-initialised is empty. */
struct usage_wastes {
    struct usage_waste *rows;
    size_t n, capacity;
};

/* Adds to the row of the sweep (by_sweep) or else of the user; texts are copied into a. */
void usage_waste_add(struct usage_wastes *w, const struct usage_info *row, bool by_sweep,
                     struct arena *a);
/* Sorts the rows, the most waste first, and removes those without any. */
void usage_waste_sort(struct usage_wastes *w);
void usage_waste_free(struct usage_wastes *w);

/* Parses "7d" before now, or a day or moment: 2026-11-21, 2026-11-21 10:15 (local), RFC 3339. */
int usage_parse_since(const char *text, int64_t now_ms, int64_t *since_ms, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* usage.c - adds up the usage of sweeps by user, and what they did not use */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/query/usage.h"
#include "common/base/units.h"

static const struct field usage_sum_fields[] = {
    FIELD(struct usage_sum, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct usage_sum, sweeps, FIELD_INT, 0, INT64_MAX),
    FIELD(struct usage_sum, attempts, FIELD_INT, 0, INT64_MAX),
    FIELD(struct usage_sum, hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_sum, cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_sum, gpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_sum, busy_cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_sum, pilot_cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_sum, pilot_gpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_sum, max_rss_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct usage_sum, gpu_memory_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct usage_sum, seen_gpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_sum, busy_gpu_hours, FIELD_FLOAT, 0, 0),
};
const struct schema usage_sum_schema = SCHEMA(struct usage_sum, "usage_sum", usage_sum_fields);

/* ---- sums ---- */

static void add_to(struct usage_sum *sum, const struct usage_info *row)
{
    sum->sweeps++;
    sum->attempts += row->attempts;
    sum->hours += row->hours;
    sum->cpu_hours += row->cpu_hours;
    sum->gpu_hours += row->gpu_hours;
    sum->busy_cpu_hours += row->busy_cpu_hours;
    sum->pilot_cpu_hours += row->pilot_cpu_hours;
    sum->pilot_gpu_hours += row->pilot_gpu_hours;
    if (row->max_rss_bytes > sum->max_rss_bytes)
        sum->max_rss_bytes = row->max_rss_bytes;
    if (row->gpu_memory_bytes > sum->gpu_memory_bytes)
        sum->gpu_memory_bytes = row->gpu_memory_bytes;
    sum->seen_gpu_hours += row->seen_gpu_hours;
    sum->busy_gpu_hours += row->busy_gpu_hours;
}

void usage_add(struct usage_sums *s, const struct usage_info *row, struct arena *a)
{
    const char *user = row->user != NULL ? row->user : "";
    size_t i = 0;

    add_to(&s->total, row);
    while (i < s->n && strcmp(s->users[i].user, user) != 0)
        i++;
    if (i == s->n) {
        mem_grow((void **)&s->users, &s->capacity, s->n, sizeof *s->users);
        s->users[s->n++] = (struct usage_sum){ .user = arena_strdup(a, user) };
    }
    add_to(&s->users[i], row);
}

static int compare_users(const void *x, const void *y)
{
    const struct usage_sum *a = x, *b = y;

    if (a->cpu_hours != b->cpu_hours)
        return a->cpu_hours < b->cpu_hours ? 1 : -1;
    return strcmp(a->user, b->user);
}

void usage_sort(struct usage_sums *s)
{
    if (s->n > 1)
        qsort(s->users, s->n, sizeof *s->users, compare_users);
}

void usage_free(struct usage_sums *s)
{
    free(s->users);
    *s = (struct usage_sums){ 0 };
}

/* ---- what was not used ---- */

static const struct field usage_waste_fields[] = {
    FIELD(struct usage_waste, sweep, FIELD_INT, FIELD_NULLABLE, INT64_MAX),
    FIELD(struct usage_waste, project, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct usage_waste, name, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct usage_waste, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct usage_waste, sweeps, FIELD_INT, 0, INT64_MAX),
    FIELD(struct usage_waste, attempts, FIELD_INT, 0, INT64_MAX),
    FIELD(struct usage_waste, cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_waste, unused_cpu_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_waste, memory_gib_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_waste, unused_memory_gib_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_waste, limit_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_waste, unused_limit_hours, FIELD_FLOAT, 0, 0),
    FIELD(struct usage_waste, max_rss_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct usage_waste, waste, FIELD_FLOAT, 0, 0),
};
const struct schema usage_waste_schema =
    SCHEMA(struct usage_waste, "usage_waste", usage_waste_fields);

static double unused(double asked, double used)
{
    return asked > used ? asked - used : 0;
}

static struct usage_waste *waste_row(struct usage_wastes *w, const struct usage_info *row,
                                     bool by_sweep, struct arena *a)
{
    const char *user = row->user != NULL ? row->user : "";

    for (size_t i = 0; i < w->n && !by_sweep; i++)
        if (strcmp(w->rows[i].user, user) == 0)
            return &w->rows[i];
    mem_grow((void **)&w->rows, &w->capacity, w->n, sizeof *w->rows);
    w->rows[w->n] = (struct usage_waste){ .sweep = SCHEMA_NONE, .user = arena_strdup(a, user) };
    if (by_sweep) {
        w->rows[w->n].sweep = row->sweep;
        w->rows[w->n].project = row->project != NULL ? arena_strdup(a, row->project) : NULL;
        w->rows[w->n].name = row->name != NULL ? arena_strdup(a, row->name) : NULL;
    }
    return &w->rows[w->n++];
}

/* Jobs that run now count in hours and cpu_hours, but not in what was used. */
void usage_waste_add(struct usage_wastes *w, const struct usage_info *row, bool by_sweep,
                     struct arena *a)
{
    static const double gib_per_cpu = 4;
    struct usage_waste *to = waste_row(w, row, by_sweep, a);
    double cpu_hours = row->hours > 0 ? row->cpu_hours * row->ended_hours / row->hours : 0;
    double cpu = unused(cpu_hours, row->busy_cpu_hours);
    double memory = unused(row->memory_gib_hours, row->used_memory_gib_hours);

    to->sweeps++;
    to->attempts += row->attempts;
    to->cpu_hours += cpu_hours;
    to->unused_cpu_hours += cpu;
    to->memory_gib_hours += row->memory_gib_hours;
    to->unused_memory_gib_hours += memory;
    to->limit_hours += row->limit_hours;
    to->unused_limit_hours += unused(row->limit_hours, row->ended_hours);
    to->waste += cpu + memory / gib_per_cpu;
    if (row->max_rss_bytes > to->max_rss_bytes)
        to->max_rss_bytes = row->max_rss_bytes;
}

static int compare_wastes(const void *x, const void *y)
{
    const struct usage_waste *a = x, *b = y;

    if (a->waste < b->waste || a->waste > b->waste)
        return a->waste < b->waste ? 1 : -1;
    return (a->sweep < b->sweep) - (a->sweep > b->sweep);
}

void usage_waste_sort(struct usage_wastes *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        if (w->rows[i].waste > 0)
            w->rows[n++] = w->rows[i];
    w->n = n;
    if (n > 1)
        qsort(w->rows, n, sizeof *w->rows, compare_wastes);
}

void usage_waste_free(struct usage_wastes *w)
{
    free(w->rows);
    *w = (struct usage_wastes){ 0 };
}

/* ---- --since ---- */

int usage_parse_since(const char *text, int64_t now_ms, int64_t *since_ms, struct err *e)
{
    /* Formats of strptime, and whether the time is in UTC. */
    static const struct {
        const char *format;
        bool utc;
    } formats[] = {
        { "%Y-%m-%dT%H:%M:%SZ", true }, { "%Y-%m-%d", false },       { "%Y-%m-%d %H:%M", false },
        { "%Y-%m-%d %H:%M:%S", false }, { "%Y-%m-%dT%H:%M", false }, { "%Y-%m-%dT%H:%M:%S", false },
    };
    int64_t back_ms;

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm t = { .tm_isdst = -1 }, read;
        const char *end = strptime(text, formats[i].format, &t);
        time_t seconds;

        if (end == NULL || *end != '\0')
            continue;
        read = t;
        seconds = formats[i].utc ? timegm(&t) : mktime(&t);
        /* mktime and timegm turn days that do not exist into others, so the date must be
         * unchanged. */
        if (t.tm_mday == read.tm_mday && t.tm_mon == read.tm_mon && seconds >= 0) {
            *since_ms = (int64_t)seconds * 1000;
            return 0;
        }
    }
    /* units_parse_duration would read "2026-11" as Slurm does: 2026 days and 11 hours. */
    if (strchr(text, '-') != NULL || units_parse_duration(text, &back_ms, NULL) < 0)
        return err_set(e, ERR_USAGE,
                       "--since takes a time back from now, as 7d or 12h, or a date, "
                       "as 2026-11-21, not '%s'",
                       text);
    *since_ms = back_ms < now_ms ? now_ms - back_ms : 0;
    return 0;
}

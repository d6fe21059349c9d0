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

/* SPDX-License-Identifier: MIT */
/* metric_line.c - reads the metrics from a line that a job reports */
#include "common/proto/metric_line.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/buf.h"
#include "common/data/schema.h"

enum { NUMBER_TEXT_MAX_BYTES = 64 };

bool metric_number(const struct value *v, double *number)
{
    char text[NUMBER_TEXT_MAX_BYTES + 1], *end;

    if (v == NULL)
        return false;
    switch (v->type) {
    case VALUE_INT: *number = (double)v->i; return true;
    case VALUE_FLOAT: *number = v->f; return true;
    case VALUE_STR: break;
    default: return false;
    }
    if (v->str.n == 0 || v->str.n >= sizeof text || isspace((unsigned char)v->str.s[0]))
        return false;
    memcpy(text, v->str.s, v->str.n);
    text[v->str.n] = '\0';
    if (strlen(text) != v->str.n || strpbrk(text, "xXpP(") != NULL) /* 0x1p3, nan(1) */
        return false;
    *number = strtod(text, &end);
    return *end == '\0';
}

const struct value *metric_value(const struct value *map, const char *name)
{
    const struct value *v = value_get(map, name);

    for (const char *slash = strchr(name, '/'); v == NULL && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        size_t n = (size_t)(slash - name);

        for (size_t i = 0; i < map->map.n && v == NULL; i++) {
            const struct member *m = &map->map.members[i];

            if (m->value.type == VALUE_MAP && m->key.str.n == n &&
                memcmp(m->key.str.s, name, n) == 0)
                v = metric_value(&m->value, slash + 1);
        }
    }
    return v;
}

bool metric_csv_has_step(const char *first, const char *second, const char *measure, size_t n)
{
    static const char *const steps[] = { "",      "index",    "step",      "steps", "global_step",
                                         "epoch", "iter",     "iteration", "batch", "time",
                                         "date",  "datetime", "timestamp" };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (strcasecmp(first, steps[i]) == 0)
            return true;
    return strlen(second) == n && strncmp(second, measure, n) == 0;
}

struct taking {
    metric_line_fn take;
    void *context;
    int64_t step;
    struct buf name;
};

/* Takes the numbers in the map, whose name is in t->name, but those in reserved. */
static void take_members(struct taking *t, const struct value *map, const char *const *reserved)
{
    size_t n = t->name.n;

    for (size_t i = 0; i < map->map.n; i++) {
        const struct value *key = &map->map.members[i].key;
        const struct value *v = &map->map.members[i].value;
        bool is_reserved = false;
        double number;

        for (size_t k = 0; reserved != NULL && reserved[k] != NULL; k++)
            is_reserved |= key->str.n == strlen(reserved[k]) &&
                           memcmp(key->str.s, reserved[k], key->str.n) == 0;
        if (is_reserved)
            continue;
        buf_add(&t->name, key->str.s, key->str.n);
        if (v->type == VALUE_MAP) {
            buf_add_char(&t->name, '/');
            take_members(t, v, NULL);
        } else if (metric_number(v, &number)) {
            t->take(t->context, buf_text(&t->name), t->name.n, number, t->step);
        }
        t->name.n = n;
    }
}

void metric_line_each(const struct value *map, metric_line_fn take, void *context)
{
    static const char *const about_jobs[] = { "step", "job", "done", "failed", NULL };
    static const char *const about_step[] = { "step", NULL };
    struct taking t = { .take = take, .context = context, .step = SCHEMA_NONE };
    double step;

    if (metric_number(value_get(map, "step"), &step) && step == floor(step) && fabs(step) < 0x1p53)
        t.step = (int64_t)step;
    take_members(&t, map, value_get(map, "job") != NULL ? about_jobs : about_step);
    buf_free(&t.name);
}

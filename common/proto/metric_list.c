/* SPDX-License-Identifier: MIT */
/* metric_list.c - the metrics that a job has reported, by name */
#include "common/proto/metric_list.h"

#include <math.h>
#include <string.h>

enum { CAPACITY_MIN = 8 };

static bool is_called(const struct metric *m, const char *name, size_t n)
{
    return strncmp(m->name, name, n) == 0 && m->name[n] == '\0';
}

struct metric *metric_list_take(struct metric_list *l, const char *name, size_t n)
{
    size_t i = 0;

    if (n == 0 || n > NAME_MAX_BYTES || memchr(name, '\0', n) != NULL)
        return NULL;
    if (l->next < l->n && is_called(&l->items[l->next], name, n))
        i = l->next;
    else
        while (i < l->n && !is_called(&l->items[i], name, n))
            i++;
    if (i == METRICS_MAX)
        return NULL;
    if (i == l->capacity) {
        struct metric *were = l->items;

        l->capacity = l->capacity == 0 ? CAPACITY_MIN : 2 * l->capacity;
        l->items = arena_alloc(l->arena, l->capacity * sizeof *l->items);
        if (l->n > 0)
            memcpy(l->items, were, l->n * sizeof *l->items);
    }
    if (i == l->n)
        l->items[l->n++] = (struct metric){ .name = arena_strndup(l->arena, name, n),
                                            .value = (double)NAN,
                                            .step = SCHEMA_NONE,
                                            .min = (double)NAN,
                                            .max = (double)NAN };
    l->next = i + 1;
    return &l->items[i];
}

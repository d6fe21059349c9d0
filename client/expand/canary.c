/* SPDX-License-Identifier: MIT */
/* canary.c - a short list of configurations with all values */
#include "client/expand/canary.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"

enum { PARAMS_MAX = 64 };

static const int16_t no_value = -1;

struct cover {
    struct hasher *hasher; /* hashes values */
    struct buf text;       /* a value in its canonical form */
    char *names[PARAMS_MAX];
    struct hash_table *values[PARAMS_MAX]; /* numbers of each parameter's values */
    int32_t *uses[PARAMS_MAX];             /* how many chosen points have each value */
    size_t n_params;
    int64_t *points;           /* numbers of the points that were looked at */
    int16_t (*of)[PARAMS_MAX]; /* for each point the number of each parameter's value */
    size_t n;
};

/* Finds or adds a parameter; PARAMS_MAX: there are too many. */
static size_t find_param(struct cover *c, const char *name)
{
    size_t i = 0;

    while (i < c->n_params && strcmp(c->names[i], name) != 0)
        i++;
    if (i == c->n_params && i < PARAMS_MAX) {
        c->names[i] = mem_strdup(name);
        c->values[i] = hash_table_create(CANARY_VALUES_MAX + 1);
        c->n_params++;
    }
    return i;
}

static void add_point(struct cover *c, int64_t number, const struct value *params)
{
    int16_t *of = c->of[c->n];

    for (size_t i = 0; i < PARAMS_MAX; i++)
        of[i] = no_value;
    for (size_t i = 0; i < params->map.n; i++) {
        size_t p = find_param(c, params->map.members[i].key.str.s);
        struct digest d;
        uint32_t value = 0;

        if (p == PARAMS_MAX)
            continue;
        buf_clear(&c->text);
        param_digest_add(&c->text, &params->map.members[i].value);
        hasher_add(c->hasher, c->text.bytes, c->text.n);
        hasher_end(c->hasher, &d);
        if (!hash_table_find(c->values[p], &d, &value)) {
            value = (uint32_t)hash_table_count(c->values[p]);
            (void)hash_table_add(c->values[p], &d, value);
        }
        of[p] = (int16_t)value;
    }
    c->points[c->n++] = number;
}

/* The i-th of n points to look at, among `all`: spaced unevenly, so not in step with a grid. */
static int64_t pick(int64_t i, int64_t n, int64_t all)
{
    int64_t first = i * all / n, next = (i + 1) * all / n;
    uint64_t h = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);

    return first + (int64_t)((h >> 32) % (uint64_t)(next - first));
}

static void look(struct cover *c, const struct points *points, int64_t all)
{
    int64_t n = all < CANARY_LOOKED_AT_MAX ? all : CANARY_LOOKED_AT_MAX;
    struct arena *a = arena_create();
    struct buf point = { 0 };

    c->points = mem_resize(NULL, (size_t)n, sizeof *c->points);
    c->of = mem_resize(NULL, (size_t)n, sizeof *c->of);
    points_seek(points, 0);
    for (int64_t i = 0; i < n; i++) {
        struct value params;

        if (n < all)
            points_seek(points, pick(i, n, all));
        buf_clear(&point);
        arena_reset(a);
        if (!points_next(points, &point))
            break;
        if (mp_read(point.bytes, point.n, a, &params, NULL) == 0 && params.type == VALUE_MAP)
            add_point(c, pick(i, n, all), &params);
    }
    buf_free(&point);
    arena_destroy(a);
}

/* How many values the point has that no chosen point has; *most_used: in how many chosen points the
 * most frequent of its values is. */
static size_t gain_of(const struct cover *c, size_t point, int32_t *most_used)
{
    size_t gain = 0;

    *most_used = 0;
    for (size_t p = 0; p < c->n_params; p++) {
        int32_t value = c->of[point][p], uses;

        if (c->uses[p] == NULL || value == no_value)
            continue;
        uses = c->uses[p][value];
        gain += uses == 0;
        if (uses > *most_used)
            *most_used = uses;
    }
    return gain;
}

static void take(struct cover *c, size_t point)
{
    for (size_t p = 0; p < c->n_params; p++)
        if (c->uses[p] != NULL && c->of[point][p] != no_value)
            c->uses[p][c->of[point][p]]++;
}

/* Takes points of a level while they add `gain` values, those whose values few chosen points have
 * first, so that shorter lists' values take turns.  Appends others to left; returns its length. */
static size_t take_level(struct cover *c, size_t gain, size_t *level, size_t n_level,
                         int64_t *chosen, size_t *n, size_t *left, size_t n_left)
{
    for (int32_t limit = 0; n_level > 0; limit++) {
        size_t n_later = 0;

        for (size_t i = 0; i < n_level; i++) {
            int32_t most_used;

            if (gain_of(c, level[i], &most_used) < gain) {
                left[n_left++] = level[i];
            } else if (most_used > limit) {
                level[n_later++] = level[i];
            } else {
                take(c, level[i]);
                chosen[(*n)++] = c->points[level[i]];
            }
        }
        n_level = n_later;
    }
    return n_left;
}

/* Chooses points, those that add most values first.  The gain of a point only becomes less, so a
 * point that no longer adds `gain` values waits for a lower level. */
static size_t choose(struct cover *c, int64_t *chosen)
{
    size_t *waiting = mem_resize(NULL, c->n, sizeof *waiting), n_waiting = c->n, n = 0;
    size_t *level = mem_resize(NULL, c->n, sizeof *level);

    for (size_t i = 0; i < c->n; i++)
        waiting[i] = i;
    for (size_t gain = c->n_params; gain > 0; gain--) {
        size_t left = 0, n_level = 0;

        for (size_t i = 0; i < n_waiting; i++) {
            int32_t most_used;

            if (gain_of(c, waiting[i], &most_used) == gain)
                level[n_level++] = waiting[i];
            else
                waiting[left++] = waiting[i];
        }
        n_waiting = take_level(c, gain, level, n_level, chosen, &n, waiting, left);
    }
    free(level);
    free(waiting);
    return n;
}

static int compare_numbers(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

int64_t *canary_find(const struct points *points, int64_t n, size_t *found)
{
    struct cover *c = mem_alloc(sizeof *c);
    int64_t *chosen;

    c->hasher = hasher_create();
    look(c, points, n);
    hasher_destroy(c->hasher);
    buf_free(&c->text);
    for (size_t p = 0; p < c->n_params; p++) {
        size_t n_values = hash_table_count(c->values[p]);

        if (n_values > 1 && n_values <= CANARY_VALUES_MAX)
            c->uses[p] = mem_alloc(n_values * sizeof **c->uses);
    }
    chosen = mem_resize(NULL, c->n + 1, sizeof *chosen);
    *found = choose(c, chosen);
    if ((int64_t)*found == n)
        *found = 0;
    qsort(chosen, *found, sizeof *chosen, compare_numbers);
    for (size_t p = 0; p < c->n_params; p++) {
        free(c->names[p]);
        free(c->uses[p]);
        hash_table_destroy(c->values[p]);
    }
    free(c->points);
    free(c->of);
    free(c);
    return chosen;
}

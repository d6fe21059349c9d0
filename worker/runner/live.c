/* SPDX-License-Identifier: MIT */
/* live.c - the values of one metric that a job reports, while it runs */

#include "worker/runner/live.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/proto/metric_line.h"

enum {
    /* However often a job reports, its file is read a few times a second. */
    LIVE_REST_MS = 200,
    /* Between looks, where nothing tells that there is something new. */
    LOOK_PAUSE_MS = 1000,
    /* A message carries steps up to 2^53. */
    STEP_BITS = 53
};

/* Drops every other value, but never the last. */
static void thin_out(struct live *l)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->n; i++)
        if (i % 2 == 0 || i + 1 == l->n)
            l->values[kept++] = l->values[i];
    l->n = kept;
}

static void on_line(void *context, const struct follow_report *r)
{
    struct live *l = context;
    struct measured m = { .token = l->token };
    double step;

    if (!metric_number(metric_value(r->line, l->metric), &m.value))
        return;
    l->n_lines++;
    m.step = l->n_lines;
    if (metric_number(metric_value(r->line, l->step), &step)) {
        if (!(step >= 0) || step > (double)(INT64_C(1) << STEP_BITS) || step != floor(step))
            return;
        m.step = (int64_t)step;
    }
    if (!isfinite(m.value) && !l->has_nan) {
        l->has_nan = true;
        l->nan = m;
    }
    if (!l->tells)
        return;
    if (l->n == LIVE_VALUES_MAX)
        thin_out(l);
    l->values[l->n++] = m;
}

void live_begin(struct live *l, const struct live_policy *policy, const struct token *token,
                int dir_fd)
{
    *l = (struct live){ .follow = { .dir_fd = -1, .inotify_fd = -1 } };
    if (policy->metric == NULL || dir_fd < 0) {
        if (dir_fd >= 0)
            close(dir_fd);
        return;
    }
    l->metric = mem_strdup(policy->metric);
    l->step = mem_strdup(policy->step != NULL ? policy->step : "step");
    l->tells = policy->tells;
    l->ends_nan = policy->ends_nan;
    l->token = *token;
    l->values = mem_alloc(LIVE_VALUES_MAX * sizeof *l->values);
    follow_open(&l->follow, dir_fd, on_line, l);
    l->follow.takes_all = true;
    l->has_more = true; /* it may have reported already */
}

void live_end(struct live *l)
{
    if (l->metric == NULL)
        return;
    follow_close(&l->follow);
    free(l->metric);
    free(l->step);
    free(l->values);
    *l = (struct live){ .follow = { .dir_fd = -1, .inotify_fd = -1 } };
}

void live_again(struct live *l)
{
    if (l->metric == NULL)
        return;
    follow_again(&l->follow);
    l->n_lines = 0;
    l->n = 0;
    l->has_more = true;
}

int live_fd(const struct live *l)
{
    return l->metric == NULL || l->rests ? -1 : l->follow.inotify_fd;
}

int live_wait_ms(const struct live *l)
{
    int64_t left_ms = l->rest_ms - units_monotonic_ms();

    if (l->metric == NULL)
        return -1;
    if (l->rests || l->has_more)
        return left_ms > 0 ? (int)left_ms : 0;
    return l->follow.inotify_fd < 0 ? LOOK_PAUSE_MS : -1;
}

void live_look(struct live *l)
{
    int64_t now_ms = units_monotonic_ms(), was_at = l->follow.offset;

    if (l->metric == NULL || now_ms < l->rest_ms)
        return;
    l->has_more = follow_look(&l->follow);
    l->rests = l->has_more || l->follow.offset != was_at;
    l->rest_ms = l->rests ? now_ms + LIVE_REST_MS : 0;
}

void live_finish(struct live *l)
{
    if (l->metric == NULL)
        return;
    follow_rest(&l->follow);
    l->has_more = false;
}

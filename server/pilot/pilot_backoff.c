/* SPDX-License-Identifier: MIT */
/* pilot_backoff.c - what went wrong is tried again, later each time */

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "server/pilot/pilots_internal.h"

enum {
    AWAY_FIRST_MS = 5 * 1000,
    AWAY_MAX_MS = 5 * 60 * 1000,
    REST_FIRST_MS = 15 * 1000,
    REST_MAX_MS = 30 * 60 * 1000
};

static int64_t longer(int64_t first_ms, int64_t failures, int64_t max_ms)
{
    int64_t ms = failures < 16 ? first_ms << failures : max_ms;

    return ms < max_ms ? ms : max_ms;
}

void pilots_away(struct pilots *p, const char *why)
{
    free(p->away_why);
    p->away_why = NULL;
    if (why == NULL) {
        p->away_failures = p->away_ends_ms = 0;
        return;
    }
    p->away_why = mem_strdup(why);
    p->away_ends_ms = units_monotonic_ms() + longer(AWAY_FIRST_MS, p->away_failures++, AWAY_MAX_MS);
    log_event(LOG_WARN, "slurm-away", "why", "%s", why, NULL);
}

struct rest *pilots_resting(struct pilots *p, int64_t pool)
{
    for (size_t i = 0; i < p->n_rests; i++)
        if (p->rests[i].pool == pool)
            return &p->rests[i];
    return NULL;
}

void pilots_rest(struct pilots *p, int64_t pool, bool has_died, const char *why)
{
    int64_t now_ms = units_monotonic_ms();
    struct rest *r = pilots_resting(p, pool);

    if (r == NULL) {
        mem_grow((void **)&p->rests, &p->rests_capacity, p->n_rests, sizeof *p->rests);
        r = &p->rests[p->n_rests++];
        *r = (struct rest){ .pool = pool };
    }
    free(r->why);
    r->why = mem_strdup(why);
    r->has_died = has_died;
    r->most = 0;
    if (r->ends_ms <= now_ms) /* others of its array are no further failures */
        r->ends_ms = now_ms + longer(REST_FIRST_MS, r->failures++, REST_MAX_MS);
}

static int64_t count_of(const struct pilots *p, uid_t uid)
{
    int64_t n = 0;

    for (size_t i = 0; i < p->rows.n; i++)
        n += p->rows.items[i].uid == uid;
    return n;
}

void pilots_full(struct pilots *p, const struct pilot_row *row, const char *why)
{
    struct rest *r;

    pilots_rest(p, row->pool, false, why);
    r = pilots_resting(p, row->pool);
    r->most = row->tasks > 1 ? row->tasks / 2 : 1;
    r->n_there = count_of(p, row->uid) - row->tasks;
}

bool pilots_rests(struct pilots *p, int64_t pool, uid_t uid)
{
    struct rest *r = pilots_resting(p, pool);

    if (r == NULL)
        return false;
    if (r->most > 0 && count_of(p, uid) < r->n_there)
        r->ends_ms = r->failures = 0;
    if (r->ends_ms <= units_monotonic_ms())
        return false;
    pilots_think_at(p, r->ends_ms);
    return true;
}

static void forget(struct pilots *p, struct rest *r)
{
    free(r->why);
    *r = p->rests[--p->n_rests];
}

/* One that was accepted may die as the last one did. */
void pilots_submitted(struct pilots *p, int64_t pool)
{
    struct rest *r = pilots_resting(p, pool);

    if (r != NULL && !r->has_died)
        forget(p, r);
}

void pilots_try_anew(struct server *sv, int64_t pool)
{
    struct rest *r = sv->pilots == NULL ? NULL : pilots_resting(sv->pilots, pool);

    if (r != NULL)
        forget(sv->pilots, r);
}

/* SPDX-License-Identifier: MIT */
/* flow_pause.c - where nothing can be started, nothing is taken for a while */

#include <stdlib.h>

#include "common/base/log.h"
#include "worker/flow/flow.h"

enum { PAUSE_AT_FIRST_MS = 1000, PAUSE_AT_MOST_MS = 60 * 1000 };

static bool is_pausing(const struct user *u)
{
    return uv_is_active((const uv_handle_t *)&u->pause_timer);
}

static bool is_trying(const struct user *u)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user == u && a->phase == PHASE_GIVEN && a->started_at == 0)
            return true;
    }
    return false;
}

bool flow_may_try(const struct user *u)
{
    return u->pause_ms == 0 || (!is_pausing(u) && !is_trying(u));
}

bool flow_is_closed(const struct user *u)
{
    return is_pausing(u) && u->pause_ms > FLOW_PATIENCE_MS;
}

static void give_back(struct user *u, const char *why)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user == u)
            flow_recall(u->agent, a, why);
    }
}

static void on_pause_over(uv_timer_t *timer)
{
    struct user *u = timer->data;

    if (u->pause_ms > FLOW_PATIENCE_MS)
        agent_register(u->agent);
    flow_fill(u->agent);
}

static void warn(const struct user *u, const char *why)
{
    char *hint =
        mem_printf("look whether %s and %s are full, or the limit of processes is reached; "
                   "few jobs are tried here until one starts",
                   u->owner.scratch, u->agent->folders.runtime);

    log_event(LOG_WARN, "cannot-start", "why", "%s", why, "hint", "%s", hint, NULL);
    free(hint);
}

/* Several that were given before the first failure fail together: that is one failure. */
void flow_start_failed(struct user *u, const char *why)
{
    if (is_pausing(u))
        return;
    if (u->pause_ms == 0)
        warn(u, why);
    free(u->pause_why);
    u->pause_why = mem_strdup(why);
    u->pause_ms = u->pause_ms == 0                     ? PAUSE_AT_FIRST_MS
                  : 2 * u->pause_ms < PAUSE_AT_MOST_MS ? 2 * u->pause_ms
                                                       : PAUSE_AT_MOST_MS;
    uv_timer_start(&u->pause_timer, on_pause_over, u->pause_ms, 0);
    if (!flow_is_closed(u))
        return;
    give_back(u, why);
    agent_register(u->agent);
}

void flow_start_succeeded(struct user *u)
{
    bool was_closed = flow_is_closed(u);

    if (u->pause_ms == 0)
        return;
    log_event(LOG_INFO, "can-start-again", NULL);
    uv_timer_stop(&u->pause_timer);
    u->pause_ms = 0;
    if (was_closed)
        agent_register(u->agent);
    flow_fill(u->agent);
}

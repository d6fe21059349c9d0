/* SPDX-License-Identifier: MIT */
/* flow_pause.c - a machine on which nothing can be started takes nothing for a while */

#include <stdlib.h>

#include "common/log.h"
#include "worker/flow.h"

enum { PAUSE_AT_FIRST_MS = 1000, PAUSE_AT_MOST_MS = 60 * 1000 };

static bool is_pausing(const struct agent *ag)
{
    return uv_is_active((const uv_handle_t *)&ag->pause_timer);
}

static bool is_trying(const struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->phase == PHASE_GIVEN && a->started_at == 0)
            return true;
    }
    return false;
}

bool flow_may_try(const struct agent *ag)
{
    return ag->pause_ms == 0 || (!is_pausing(ag) && !is_trying(ag));
}

bool flow_is_closed(const struct agent *ag)
{
    return is_pausing(ag) && ag->pause_ms > FLOW_PATIENCE_MS;
}

static void give_back(struct agent *ag, const char *why)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after))
        flow_recall(ag, RING_ITEM(at, struct attempt, ring), why);
}

static void on_pause_over(uv_timer_t *timer)
{
    struct agent *ag = timer->data;

    if (ag->pause_ms > FLOW_PATIENCE_MS)
        agent_register(ag);
    flow_fill(ag);
}

static void warn(const struct agent *ag, const char *why)
{
    char *hint =
        mem_printf("look whether %s and %s are full, or the limit of processes is reached; "
                   "few jobs are tried here until one starts",
                   ag->scratch.path, ag->folders.runtime);

    log_event(LOG_WARN, "cannot-start", "why", "%s", why, "hint", "%s", hint, NULL);
    free(hint);
}

/* Several that were given before the first failure fail together: that is one failure. */
void flow_start_failed(struct agent *ag, const char *why)
{
    if (is_pausing(ag))
        return;
    if (ag->pause_ms == 0)
        warn(ag, why);
    ag->pause_ms = ag->pause_ms == 0                     ? PAUSE_AT_FIRST_MS
                   : 2 * ag->pause_ms < PAUSE_AT_MOST_MS ? 2 * ag->pause_ms
                                                         : PAUSE_AT_MOST_MS;
    uv_timer_start(&ag->pause_timer, on_pause_over, ag->pause_ms, 0);
    if (!flow_is_closed(ag))
        return;
    give_back(ag, why);
    agent_register(ag);
}

void flow_start_succeeded(struct agent *ag)
{
    bool was_closed = flow_is_closed(ag);

    if (ag->pause_ms == 0)
        return;
    log_event(LOG_INFO, "can-start-again", NULL);
    uv_timer_stop(&ag->pause_timer);
    ag->pause_ms = 0;
    if (was_closed)
        agent_register(ag);
    flow_fill(ag);
}

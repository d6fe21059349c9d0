/* SPDX-License-Identifier: MIT */
/* flow_pause.c - where nothing can be started, nothing is taken for a while */

#include "worker/flow/flow_pause.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "worker/flow/flow_stage.h"

enum { PAUSE_AT_FIRST_MS = 1000, PAUSE_AT_MOST_MS = 60 * 1000 };

static bool is_pausing(const struct user *u)
{
    return uv_is_active((const uv_handle_t *)&u->pause_timer);
}

bool flow_pause_may_try(const struct user *u)
{
    if (u->pause_ms == 0)
        return true;
    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        if (attempt_may_run(a) && a->started_at == 0) /* also one whose start may have failed */
            return false;
    return !is_pausing(u);
}

bool flow_pause_is_long(const struct user *u)
{
    return is_pausing(u) && u->pause_ms > FLOW_PATIENCE_MS;
}

static void on_pause_over(uv_timer_t *timer)
{
    struct user *u = timer->data;

    u->agent->is_register_due |= u->pause_ms > FLOW_PATIENCE_MS;
}

/* Several that were given before the first failure fail together: that is one failure. */
void flow_pause_failed(struct user *u, const char *why)
{
    if (is_pausing(u))
        return;
    if (u->pause_ms == 0) {
        char *hint = mem_printf("look whether %s and %s are full, or the limit of processes is "
                                "reached; few jobs are tried here until one starts",
                                u->owner.scratch, u->agent->folders.runtime);

        log_event(LOG_WARN, "cannot-start", "why", "%s", why, "hint", "%s", hint, NULL);
        free(hint);
    }
    free(u->pause_why);
    u->pause_why = mem_strdup(why);
    u->pause_ms = u->pause_ms == 0                     ? PAUSE_AT_FIRST_MS
                  : 2 * u->pause_ms < PAUSE_AT_MOST_MS ? 2 * u->pause_ms
                                                       : PAUSE_AT_MOST_MS;
    uv_timer_start(&u->pause_timer, on_pause_over, u->pause_ms, 0);
    if (!flow_pause_is_long(u))
        return;
    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        flow_post(u->agent, a, EVENT_RECALL, why);
    u->agent->is_register_due = true;
}

void flow_pause_succeeded(struct user *u)
{
    if (u->pause_ms == 0)
        return;
    log_event(LOG_INFO, "can-start-again", NULL);
    u->agent->is_register_due |= flow_pause_is_long(u);
    uv_timer_stop(&u->pause_timer);
    u->pause_ms = 0;
}

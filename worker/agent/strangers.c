/* SPDX-License-Identifier: MIT */
/* strangers.c - kills children that the agent has not started: processes that a dead runner left */

#include "worker/agent/strangers.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "worker/base/child_start.h"
#include "worker/base/process_tree.h"

enum { AGAIN_AT_FIRST_MS = 10, AGAIN_AT_MOST_MS = 2000 };

/* Kills strangers with all below them.  Their pids are safe to use: the kernel reuses a child's pid
 * only after the agent has waited for it. */
static void on_again(uv_timer_t *timer)
{
    struct strangers *s = timer->data;
    size_t n, n_alive = 0;
    struct process_tree_process *all = process_tree_children(&n);
    struct process_look look;

    for (size_t i = 0; i < n; i++) {
        if (child_is_own(all[i].pid) || !process_look(all[i].pid, &look) || look.state == 'Z' ||
            (look.uid == geteuid()) == s->spares_own_uid)
            continue;
        n_alive += process_tree_kill_below(all[i].pid, look.uid);
        n_alive += kill(all[i].pid, SIGKILL) == 0;
    }
    free(all);
    if (n_alive == 0)
        return;
    if (s->again_ms == AGAIN_AT_FIRST_MS)
        log_event(LOG_WARN, "strangers-killed", "processes", "%zu", n_alive, NULL);
    uv_timer_start(timer, on_again, s->again_ms, 0);
    s->again_ms = s->again_ms * 2 < AGAIN_AT_MOST_MS ? s->again_ms * 2 : AGAIN_AT_MOST_MS;
}

void strangers_init(struct strangers *s, uv_loop_t *loop, bool spares_own_uid)
{
    uv_timer_init(loop, &s->timer);
    s->timer.data = s;
    s->spares_own_uid = spares_own_uid;
}

void strangers_end(struct strangers *s)
{
    s->again_ms = AGAIN_AT_FIRST_MS;
    on_again(&s->timer);
}

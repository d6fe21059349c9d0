/* SPDX-License-Identifier: MIT */
/*
 * strangers.h - kills children that the agent has not started: processes of jobs whose runner died
 *
 * A job's process whose parent ends becomes a child of the runner, and when the runner dies, of the
 * agent that started it.  A control group ends such processes; where there is none, and they have
 * cleared their environment, they can be found only as children of the agent.
 *
 * Processes of a runner that an earlier agent started do not become this agent's children.
 */
#ifndef LUDWIG_WORKER_AGENT_STRANGERS_H
#define LUDWIG_WORKER_AGENT_STRANGERS_H

#include <stdbool.h>

#include <uv.h>

struct strangers {
    uv_timer_t timer;
    uint64_t again_ms;
    bool spares_own_uid; /* jobs run as other users: a process of this user is no job's */
};

void strangers_init(struct strangers *s, uv_loop_t *loop, bool spares_own_uid);
/* Kills strangers with all below them, repeatedly until none is left.  To be called when a child of
 * the agent that may have been a runner has ended. */
void strangers_end(struct strangers *s);

#endif

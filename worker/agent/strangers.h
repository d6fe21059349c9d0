/* SPDX-License-Identifier: MIT */
/*
 * strangers.h - children that the agent has not started: what is left of a job whose runner died
 *
 * Processes that leave their parent become children of their job's runner, and when that dies, of
 * the agent that started it.  A control group ends them; where there is none, and they have cleared
 * their environment, nothing else leads to them.
 *
 * A runner that an earlier agent has started leaves them to somebody else.
 */
#ifndef LUDWIG_WORKER_AGENT_STRANGERS_H
#define LUDWIG_WORKER_AGENT_STRANGERS_H

#include <stdbool.h>

#include <uv.h>

struct strangers {
    uv_timer_t timer;
    uint64_t again_ms;
    bool spares_own_uid; /* jobs have the rights of others: what runs as this user is no job's */
};

void strangers_init(struct strangers *s, uv_loop_t *loop, bool spares_own_uid);
/* Kills them with all below them, again until none is left.  For when a child of ours that may have
 * been a runner has ended. */
void strangers_end(struct strangers *s);

#endif

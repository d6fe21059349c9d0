/* SPDX-License-Identifier: MIT */
/*
 * gpus.h - which GPUs are offered to jobs, and when to look again
 *
 * A child asks the driver, which may hang.
 */
#ifndef LUDWIG_WORKER_FLOW_GPUS_H
#define LUDWIG_WORKER_FLOW_GPUS_H

#include "worker/agent/agent.h"

/* known follows once, perhaps before this returns: the slots are made then. */
void gpus_start(struct agent *ag, void (*known)(struct agent *ag));
/* Asks now, unless a question is open; while the child of the last one is there still, when that is gone. */
void gpus_ask(struct agent *ag);
/* Whether others use them was answered a moment ago, or there is nobody to ask. */
bool gpus_are_known(const struct agent *ag);
/* A child of ours ended; true if it was the one that was asked. */
bool gpus_reaped(struct agent *ag, pid_t pid);

#endif

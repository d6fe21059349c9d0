/* SPDX-License-Identifier: MIT */
/*
 * gpus.h - which GPUs are offered to jobs, what they do, and when to look again
 *
 * A child asks the driver, as the driver may hang.
 */
#ifndef LUDWIG_WORKER_FLOW_GPUS_H
#define LUDWIG_WORKER_FLOW_GPUS_H

#include "worker/agent/agent.h"

/* Looks for GPUs and makes ag->slots; then calls known, once, perhaps before this returns. */
void gpus_start(struct agent *ag, void (*known)(struct agent *ag));
/* Asks which GPUs are free, unless a question is open; if the last child still hangs, later. */
void gpus_ask(struct agent *ag);
/* Whether the answer about others' GPUs is a moment old at most, or there is nothing to ask. */
bool gpus_are_known(const struct agent *ag);
/* A child of the agent ended; returns true if it was the one that asks the driver. */
bool gpus_reaped(struct agent *ag, pid_t pid);

#endif

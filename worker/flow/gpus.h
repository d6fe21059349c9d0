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
/* Asks now, unless a question is open; if the last child is still there, asks when it is gone. */
void gpus_ask(struct agent *ag);
/* Whether the answer about others' GPUs is a moment old at most, or there is nothing to ask. */
bool gpus_are_known(const struct agent *ag);
/* A child of ours ended; true if it was the one that was asked. */
bool gpus_reaped(struct agent *ag, pid_t pid);

#endif

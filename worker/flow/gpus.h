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
/* ludwigd asks how busy the machine is: sends the load at once, and the use of the GPUs when the
 * driver has answered. */
void gpus_tell_load(struct agent *ag);
/* A job with GPUs has started: from now on runners of such jobs are told the use of their GPUs. */
void gpus_job_started(struct agent *ag);
/* If the published attempt failed and had GPUs, posts EVENT_PUBLISHED with report when the driver
 * has said whether they work; false: nothing to ask, the caller posts it. */
bool gpus_weigh_failure(struct agent *ag, struct attempt *a, struct report *report);
/* Whether the driver's last answer is less than 2 s old, or there is no driver to ask. */
bool gpus_are_known(const struct agent *ag);
/* A child of the agent ended; returns true if it was the one that asks the driver. */
bool gpus_reaped(struct agent *ag, pid_t pid);

#endif

/* SPDX-License-Identifier: MIT */
/* gpus.h - which GPUs are offered to jobs, and when to look again */
#ifndef LUDWIG_WORKER_LOOP_GPUS_H
#define LUDWIG_WORKER_LOOP_GPUS_H

#include "worker/agent/agent.h"

/* known follows once, perhaps before this returns: the slots are made then. */
void gpus_start(struct agent *ag, void (*known)(struct agent *ag));

#endif

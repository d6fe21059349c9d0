/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.h - puts the agent of a worker together, runs it, takes it apart
 */
#ifndef LUDWIG_WORKER_LOOP_LIFECYCLE_H
#define LUDWIG_WORKER_LOOP_LIFECYCLE_H

#include "worker/agent/agent.h"

/* Runs until it is told to leave.  The exit code.  argv: how it was started. */
int lifecycle_run(const struct options *o, char **argv);
/* It is known which GPUs there are: ludwigd may hear of us. */
void lifecycle_ready(struct agent *ag);

#endif

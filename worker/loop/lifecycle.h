/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.h - puts the agent of a worker together, runs it, takes it apart
 */
#ifndef LUDWIG_WORKER_LOOP_LIFECYCLE_H
#define LUDWIG_WORKER_LOOP_LIFECYCLE_H

#include "worker/base/options.h"

/* Runs the agent until it is told to leave.  Returns the exit code.  argv: how it was started. */
int lifecycle_run(const struct options *o, char **argv);

#endif

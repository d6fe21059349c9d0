/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.h - starts the agent of a worker, runs its event loop, and ends it
 */
#ifndef LUDWIG_WORKER_LOOP_LIFECYCLE_H
#define LUDWIG_WORKER_LOOP_LIFECYCLE_H

#include "worker/base/options.h"

/* Runs the agent until it is to leave, and returns the exit code; argv: of this process. */
int lifecycle_run(const struct options *o, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pilot.h - the first process of a pilot, that is, of a Slurm job that is a worker
 *
 * The batch script becomes this process.  It starts the agent, and again whenever that dies, passes
 * on the signals that Slurm sends to the batch script alone, and ends when the agent has left: with
 * nothing more to do, at the end of its time, or as it was told.  No job depends on this process or
 * the agent: jobs have runners, which the next agent takes over.
 */
#ifndef LUDWIG_WORKER_LOOP_PILOT_H
#define LUDWIG_WORKER_LOOP_PILOT_H

#include "worker/base/options.h"

#define PILOT_COMMAND "pilot"
#define PILOT_AGENT   "--pilot-agent" /* with the same options, and the end of its time */

/* Runs until the agent has left.  Returns the exit code. */
int pilot_main(const struct options *o);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pilot.h - the first process of a pilot: a Slurm job that is a worker
 *
 * The batch script becomes this process.  It starts the agent, again whenever that dies, hands on
 * the signals that Slurm sends to the batch script alone, and ends when the agent has left: with
 * nothing more to do, at the end of its time, or as it was told.  No job depends on it or on
 * the agent: those have runners, which the next agent takes up.
 */
#ifndef LUDWIG_WORKER_LOOP_PILOT_H
#define LUDWIG_WORKER_LOOP_PILOT_H

#include "worker/base/options.h"

#define PILOT_COMMAND "pilot"
#define PILOT_AGENT   "--pilot-agent" /* with the same options, and the end of its time */

/* Runs until there is nothing more to do.  Returns the exit code. */
int pilot_main(const struct options *o);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pilot.h - the first process of a pilot: a Slurm job that is a worker
 *
 * It is what the batch script becomes.  It starts the agent, again whenever that dies, hands on
 * the signals that Slurm sends to the batch script alone, and ends when the agent has left: with
 * nothing more to do, at the end of its time, or as it was told.  No job depends on it or on
 * the agent: those have runners, which the next agent takes up.
 */
#ifndef LUDWIG_WORKER_LOOP_PILOT_H
#define LUDWIG_WORKER_LOOP_PILOT_H

#include "worker/base/options.h"

#define PILOT_COMMAND "pilot"
#define PILOT_AGENT   "--pilot-agent" /* with the same options, and the end of its time */

/* Until there is nothing more to do.  The exit code. */
int pilot_main(const struct options *o);

#endif

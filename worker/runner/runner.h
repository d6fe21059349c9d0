/* SPDX-License-Identifier: MIT */
/*
 * runner.h - runs one job after the other, and outlives its agent
 *
 *   ludwig-worker --runner SCRATCH CONFINEMENT
 *
 * Descriptor 3 is the connection to the agent, 4 the lock on the runner's folder, held until the
 * runner ends, 5 the socket there at which a later agent connects, 6 memory.max (oom.h), if any.
 */
#ifndef LUDWIG_WORKER_RUNNER_RUNNER_H
#define LUDWIG_WORKER_RUNNER_RUNNER_H

/* argv[0] is "--runner". */
int runner_main(int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * runner.h - runs one job after the other, and outlives its agent
 *
 *   ludwig-worker --runner FOLDER SCRATCH
 *
 * Descriptor 3 is the connection to the agent, 4 the lock on FOLDER, held until
 * the runner ends.  A later agent connects to FOLDER/sock.
 */
#ifndef LUDWIG_WORKER_RUNNER_RUNNER_H
#define LUDWIG_WORKER_RUNNER_RUNNER_H

/* argv[0] is "--runner". */
int runner_main(int argc, char **argv);

#endif

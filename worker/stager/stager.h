/* SPDX-License-Identifier: MIT */
/*
 * stager.h - fills the cache ahead of the jobs, brings checkpoints, and looks for published results
 *
 *   ludwig-worker --stager SCRATCH ADDRESS
 *
 * A straight-line process that may hang with the share; descriptor 3 is the
 * connection to the agent, which asks again when it was told to.
 */
#ifndef LUDWIG_WORKER_STAGER_STAGER_H
#define LUDWIG_WORKER_STAGER_STAGER_H

/* argv[0] is "--stager". */
int stager_main(int argc, char **argv);

#endif

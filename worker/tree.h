/* SPDX-License-Identifier: MIT */
/*
 * tree.h - every process that descends from this one
 *
 * A runner is its jobs' subreaper: whatever a job daemonizes becomes the runner's
 * own child, so the descendants of the runner are exactly what is left of the job.
 */
#ifndef LUDWIG_WORKER_TREE_H
#define LUDWIG_WORKER_TREE_H

#include <stddef.h>

#include "common/err.h"

/* From now on orphans among the descendants become children of this process. */
int tree_become_reaper(struct err *e);

/* Sends the signal to all descendants and returns how many there were.  Processes
 * born meanwhile may be missed: ask again until none is left. */
size_t tree_signal(int signal);

#endif

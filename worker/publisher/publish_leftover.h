/* SPDX-License-Identifier: MIT */
/*
 * publish_leftover.h - publishes results that a killed pilot did not get to the share
 *
 * When Slurm says that a pilot has ended, its jobs are given to others.  A result that is on the
 * share by then is found by the next attempt, which ends as superseded instead of doing the job
 * again; a result that comes later loses against what lies there.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_PUBLISH_LEFTOVER_H
#define LUDWIG_WORKER_PUBLISHER_PUBLISH_LEFTOVER_H

#include "common/base/err.h"

/* Publishes attempts that ended well in this scratch, whose worker has no process left.  address:
 * ludwigd's if the share is not mounted here, else "".  -1 with e set: one was not published. */
int publish_leftover(const char *scratch, const char *address, struct err *e);

#endif

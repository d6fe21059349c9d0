/* SPDX-License-Identifier: MIT */
/*
 * publish_leftover.h - results that a pilot which was killed did not get to the share
 *
 * Slurm's word that the pilot has ended gives its jobs to others.  A result that is on the share by then
 * is found by the next attempt, which ends as superseded instead of doing the job once more; one that
 * comes later loses against what lies there.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_PUBLISH_LEFTOVER_H
#define LUDWIG_WORKER_PUBLISHER_PUBLISH_LEFTOVER_H

#include "common/base/err.h"

/* Publishes what ended well in this scratch folder, to which no process of its worker is left.  address: of
 * ludwigd where the share is not mounted here, else "".  -1 with e set: one of them could not be. */
int publish_leftover(const char *scratch, const char *address, struct err *e);

#endif

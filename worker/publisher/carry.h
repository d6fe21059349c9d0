/* SPDX-License-Identifier: MIT */
/*
 * carry.h - what an attempt leaves for the next one goes the way of its result
 *
 *   prepare   copy its checkpoint folder to the share, under a temporary name
 *   (the group is synced)
 *   fence     it gets its name
 *   (the folders are synced)
 *   finish    older ones are removed; all of them, when the job has a result
 *
 * Of attempts that came to nothing, for whatever reason, cancelled ones too.  Where the
 * newest one on the share is the same already, there is nothing to copy.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_CARRY_H
#define LUDWIG_WORKER_PUBLISHER_CARRY_H

#include "worker/publisher/result.h"

int carry_prepare(struct result *r, struct group *g, struct err *e);
int carry_fence(struct result *r, struct err *e);
/* What cannot be removed holds up nobody. */
void carry_finish(struct result *r, struct group *g);

#endif

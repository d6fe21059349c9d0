/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_publish.h - an attempt's last checkpoint goes the way of its result
 *
 *   prepare   copy its checkpoint folder to the share, under a temporary name
 *   (the group is synced)
 *   fence     it gets its name
 *   (the folders are synced)
 *   finish    older ones are removed; all of them, when the job has a result
 *
 * Checkpoints are kept of attempts that came to nothing, for whatever reason, cancelled ones too.
 * If the newest one on the share is the same already, there is nothing to copy.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_CHECKPOINT_PUBLISH_H
#define LUDWIG_WORKER_PUBLISHER_CHECKPOINT_PUBLISH_H

#include "worker/publisher/publish.h"

int checkpoint_publish_prepare(struct result *r, struct publish_group *g, struct err *e);
int checkpoint_publish_fence(struct result *r, struct err *e);
/* Checkpoints that cannot be removed are logged and left. */
void checkpoint_publish_finish(struct result *r, struct publish_group *g);

#endif

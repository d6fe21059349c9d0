/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_publish.h - publishes an attempt's last checkpoint, in the steps of its result
 *
 *   prepare   copy the checkpoint folder to the share, under a temporary name
 *   (the group is synced)
 *   fence     give the copy its name
 *   (the folders are synced)
 *   finish    remove older checkpoints of the job or, if it has a result, all that are not kept
 *
 * A checkpoint is kept if its attempt has no result, for whatever reason, also if it was cancelled;
 * with `checkpoint: {keep: true}` also if the attempt is done.  If the newest checkpoint on the
 * share is the same already, nothing is copied.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_CHECKPOINT_PUBLISH_H
#define LUDWIG_WORKER_PUBLISHER_CHECKPOINT_PUBLISH_H

#include "worker/publisher/publish.h"

int checkpoint_publish_prepare(struct result *r, struct publish_group *g, struct err *e);
int checkpoint_publish_fence(struct result *r, struct err *e);
/* Checkpoints that cannot be removed are logged and left. */
void checkpoint_publish_finish(struct result *r, struct publish_group *g);

#endif

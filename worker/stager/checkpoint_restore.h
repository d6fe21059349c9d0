/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_restore.h - brings the checkpoint that an attempt goes on from to scratch
 */
#ifndef LUDWIG_WORKER_STAGER_CHECKPOINT_RESTORE_H
#define LUDWIG_WORKER_STAGER_CHECKPOINT_RESTORE_H

#include "worker/base/scratch.h"
#include "common/share/share.h"

/*
 * Copies the newest checkpoint of the attempts before this one to checkpoints/<token>, as the job
 * left it: its names, modes, times and symlinks.  0 also when there is none, or it is there
 * already.  A damaged checkpoint is passed over for the one before it.
 */
int checkpoint_restore(const struct scratch *s, struct shares *access,
                       const struct order_restore *x, struct err *e);

#endif

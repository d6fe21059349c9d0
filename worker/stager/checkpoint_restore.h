/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_restore.h - brings the checkpoint that an attempt goes on from to scratch
 */
#ifndef LUDWIG_WORKER_STAGER_CHECKPOINT_RESTORE_H
#define LUDWIG_WORKER_STAGER_CHECKPOINT_RESTORE_H

#include "worker/base/scratch.h"
#include "common/share/share.h"

/*
 * Copies the newest checkpoint of the job's earlier attempts to checkpoints/<token>, with names,
 * modes, times and symlinks as the job left them.  A damaged one is passed over for the one before
 * it; if there is none, the last one of the job x->from is taken.  Returns 0, also if there is none
 * or it is there already; -1 with e set: try again later; 1 with e set: the job x->from has none.
 */
int checkpoint_restore(const struct scratch *s, struct shares *access,
                       const struct order_restore *x, struct err *e);

#endif

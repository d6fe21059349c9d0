/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_sync.h - copies the checkpoints of running attempts to the share every so often
 *
 * One at a time and piece by piece, between the other work of the publisher, and only
 * when something changed since the copy before.  What a lost node had not copied yet is
 * lost with it.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_CHECKPOINT_SYNC_H
#define LUDWIG_WORKER_PUBLISHER_CHECKPOINT_SYNC_H

#include "worker/base/scratch.h"
#include "common/share/share.h"

struct checkpoint_sync;

/* Both stay the caller's. */
struct checkpoint_sync *checkpoint_sync_create(const struct scratch *s, struct shares *access);
void checkpoint_sync_destroy(struct checkpoint_sync *k); /* NULL is fine */

/* From now on, for the first time after every_ms.  Asking twice is fine. */
void checkpoint_sync_watch(struct checkpoint_sync *k, const struct token *token, int64_t every_ms);
/* It has ended; a copy that was begun is dropped. */
void checkpoint_sync_forget(struct checkpoint_sync *k, const struct token *token);

/* Until there is something to do: 0 at once, -1 nothing will. */
int64_t checkpoint_sync_wait_ms(const struct checkpoint_sync *k);
/* Does a moment's work, if there is any. */
void checkpoint_sync_turn(struct checkpoint_sync *k);

#endif

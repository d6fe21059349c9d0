/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - copies the checkpoints of running attempts to the share every so often
 *
 * One at a time and piece by piece, between the other work of the publisher, and only
 * when something changed since the copy before.  What a lost node had not copied yet is
 * lost with it.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_KEEPER_H
#define LUDWIG_WORKER_PUBLISHER_KEEPER_H

#include "worker/base/scratch.h"
#include "worker/share/share.h"

struct keeper;

/* Both stay the caller's. */
struct keeper *keeper_create(const struct scratch *s, struct shares *access);
void keeper_destroy(struct keeper *k); /* NULL is fine */

/* From now on, for the first time after every_ms.  Asking twice is fine. */
void keeper_watch(struct keeper *k, const struct token *token, int64_t every_ms);
/* It has ended; a copy that was begun is dropped. */
void keeper_forget(struct keeper *k, const struct token *token);

/* Until there is something to do: 0 at once, -1 nothing will. */
int64_t keeper_wait_ms(const struct keeper *k);
/* Does a moment's work, if there is any. */
void keeper_turn(struct keeper *k);

#endif

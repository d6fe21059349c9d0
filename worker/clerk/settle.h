/* SPDX-License-Identifier: MIT */
/*
 * settle.h - what became of attempts that no runner has, by their folders on scratch
 */
#ifndef LUDWIG_WORKER_CLERK_SETTLE_H
#define LUDWIG_WORKER_CLERK_SETTLE_H

#include "worker/base/scratch.h"

/* The process has left something, or one of those asked about: their runner makes the attempts'
 * folders first, then that of the process. */
bool settle_has_begun(const struct scratch *s, const struct order_settle *x);

/* Where it lies, once what its runner could not do any more is done: of x->tokens, or x->process.
 * The note's report lies in the arena. */
void settle_one(const struct scratch *s, const struct order_settle *x, const struct token *token,
                struct arena *a, struct note_settled *note);

/* True: it left a checkpoint, has its outcome now, and lies in ended/. */
bool settle_finish(const struct scratch *s, const struct order_finish *x);

/* Calls each for everything on scratch that has an attempt's name; the same one may come twice. */
void settle_survey(const struct scratch *s,
                   void (*each)(void *context, const struct note_remains *note), void *context);

#endif

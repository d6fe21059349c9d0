/* SPDX-License-Identifier: MIT */
/*
 * scratch_state.h - what became of attempts that no runner has, by their folders on scratch
 */
#ifndef LUDWIG_WORKER_CLERK_SCRATCH_STATE_H
#define LUDWIG_WORKER_CLERK_SCRATCH_STATE_H

#include "worker/base/scratch.h"

/* The process has left something, or one of those asked about: their runner makes the attempts'
 * folders first, then that of the process. */
bool scratch_state_has_begun(const struct scratch *s, const struct order_settle *x);

/* Where it lies, once what its runner could not do any more is done: of x->tokens, or x->process.
 * The note's report lies in the arena. */
void scratch_state_settle(const struct scratch *s, const struct order_settle *x,
                          const struct token *token, struct arena *a, struct note_settled *note);

/* True: it left a checkpoint, has its outcome now, and lies in ended/. */
bool scratch_state_finish(const struct scratch *s, const struct order_finish *x);

/* Calls each for everything on scratch that has an attempt's name; the same one may come twice. */
void scratch_state_survey(const struct scratch *s,
                          void (*each)(void *context, const struct note_remains *note),
                          void *context);

#endif

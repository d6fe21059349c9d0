/* SPDX-License-Identifier: MIT */
/*
 * adopt.h - take over what an earlier agent left: runners, and attempts that no runner has
 *
 * First all runners that live say what they run.  Then the janitor is asked what became of the other
 * attempts, and each user's scratch is surveyed.  A runner that says nothing is not waited for.
 */
#ifndef LUDWIG_WORKER_FLOW_ADOPT_H
#define LUDWIG_WORKER_FLOW_ADOPT_H

#include "worker/flow/phases.h"

/* The registry has been read, and the runners are known. */
void adopt_begin(struct agent *ag);
/* Once in each turn: what can be done by what is known by now. */
void adopt_turn(struct agent *ag);
/* A runner that was looked for says what it runs. */
void adopt_hello(void *context, struct runner *r, const struct note_hello *hello);

#endif

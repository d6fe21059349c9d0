/* SPDX-License-Identifier: MIT */
/*
 * flow_recover.h - takes over what an earlier agent left; asks the janitor about attempts that no
 * runner has, and about all else that lies on scratch
 *
 * First all runners that live say what they run.  Then the janitor is asked what became of the
 * other attempts, and each user's scratch is surveyed.  A runner that says nothing is not waited
 * for.
 *
 * A survey lists what lies on a user's scratch without an owner.  Some of it may be of agents that
 * worked for a ludwigd that is gone: their results are published, and what their jobs were given
 * counts against our slots while they may run.
 */
#ifndef LUDWIG_WORKER_FLOW_FLOW_RECOVER_H
#define LUDWIG_WORKER_FLOW_FLOW_RECOVER_H

#include "worker/flow/phases.h"

extern const struct service_events flow_recover_events; /* of the janitor */

/* EFFECT_SEEK, EFFECT_END, EFFECT_ASK, EFFECT_RELEASE */
void flow_recover_seek(struct agent *ag, struct batch *b);
void flow_recover_end(struct agent *ag, struct batch *b);
void flow_recover_ask(struct agent *ag, struct batch *b);
void flow_recover_release(struct agent *ag, struct batch *b);
/* EFFECT_KILL_SOON, EFFECT_KILL, EFFECT_BURY */
void flow_recover_kill_soon(struct agent *ag, struct batch *b);
void flow_recover_kill(struct agent *ag, struct batch *b);
void flow_recover_bury(struct agent *ag, struct batch *b);
/* EFFECT_FINISH */
void flow_recover_finish(struct attempt *a, const struct flow_event *ev);

/* The registry has been read, and the runners are known. */
void flow_recover_begin(struct agent *ag);
/* Once in each turn: does what can be decided by now. */
void flow_recover_turn(struct agent *ag);
/* A runner that was looked for says what it runs. */
void flow_recover_hello(struct agent *ag, struct runner *r, const struct note_hello *hello);

void flow_recover_survey(struct user *u);
void flow_recover_free(struct agent *ag);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * flow_recover.h - takes over what an earlier agent left; asks the janitor about attempts that no
 * runner has, and about all else that lies on scratch
 *
 * First all runners that live say what they run; one that is silent for 5 s is not waited for.
 * Then the janitor is asked about the other attempts, and each user's scratch is surveyed.
 *
 * A survey lists what lies on a user's scratch and belongs to no attempt held here.  Some may stem
 * from an agent that worked for a ludwigd that is gone: its results are published, and the
 * resources of its jobs count against our slots while they may run.
 */
#ifndef LUDWIG_WORKER_FLOW_FLOW_RECOVER_H
#define LUDWIG_WORKER_FLOW_FLOW_RECOVER_H

#include "worker/flow/phases.h"

extern const struct service_events flow_recover_events; /* of the janitor */

/* The effects SEEK, END, ASK and RELEASE of phases.h */
void flow_recover_seek(struct agent *ag, struct batch *b);
void flow_recover_end(struct agent *ag, struct batch *b);
void flow_recover_ask(struct agent *ag, struct batch *b);
void flow_recover_release(struct agent *ag, struct batch *b);
/* The effects KILL_SOON, KILL and BURY */
void flow_recover_kill_soon(struct agent *ag, struct batch *b);
void flow_recover_kill(struct agent *ag, struct batch *b);
void flow_recover_bury(struct agent *ag, struct batch *b);
/* The effect FINISH; ev NULL: asks the janitor again, with what an earlier event said. */
void flow_recover_finish(struct attempt *a, const struct flow_event *ev);

/* Begins adoption; to be called when the registry was read and runners_init called. */
void flow_recover_begin(struct agent *ag);
/* To be called in each turn: takes the steps of adoption that are possible by now. */
void flow_recover_turn(struct agent *ag);
/* Takes the word of a runner, connected to again, on what it runs. */
void flow_recover_hello(struct agent *ag, struct runner *r, const struct note_hello *hello);

void flow_recover_survey(struct user *u);
void flow_recover_free(struct agent *ag);

#endif

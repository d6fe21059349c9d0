/* SPDX-License-Identifier: MIT */
/*
 * flow_recover.h - attempts that no runner has, and what else lies on scratch: asked of the janitor
 *
 * A survey lists what lies on a user's scratch and belongs to nobody.  Some of it may be of agents that worked
 * for a ludwigd that is gone: their results are published, and what their jobs were given counts
 * against our slots while they may run.
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
void flow_recover_finish(struct agent *ag, struct attempt *a, const struct flow_event *ev);

/* Attempts of which the janitor is yet to say what became of them. */
size_t flow_recover_n_asked(const struct agent *ag);

void flow_recover_survey(struct user *u);
void flow_recover_free(struct agent *ag);

#endif

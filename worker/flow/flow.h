/* SPDX-License-Identifier: MIT */
/* flow.h - takes the events of attempts and batches, carries out their effects, starts what fits */
#ifndef LUDWIG_WORKER_FLOW_FLOW_H
#define LUDWIG_WORKER_FLOW_FLOW_H

#include "worker/agent/agent.h"

/* To be called before the loop waits: takes all posted events and fills the slots. */
void flow_turn(struct agent *ag);

/* Takes the server's runtime folder, and begins to adopt what an earlier agent left for it. */
int flow_meet_server(struct agent *ag, const char *server_id, struct err *e);
/* Frees the events that wait, and all else that flow/ keeps in ag. */
void flow_free(struct agent *ag);

#endif

/* SPDX-License-Identifier: MIT */
/* flow.h - takes the events of attempts and batches, calls their effects, and starts what fits */
#ifndef LUDWIG_WORKER_FLOW_FLOW_H
#define LUDWIG_WORKER_FLOW_FLOW_H

#include "worker/agent/agent.h"

/* Once before the loop waits: takes all events that were posted, and fills the slots. */
void flow_turn(struct agent *ag);

/* Takes the server's folder and all that an earlier agent left for that server. */
int flow_meet_server(struct agent *ag, const char *server_id, struct err *e);
/* Frees the events that wait, and all else that the flow keeps in ag. */
void flow_free(struct agent *ag);

#endif

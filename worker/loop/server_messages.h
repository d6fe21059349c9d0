/* SPDX-License-Identifier: MIT */
/* server_messages.h - the agent's answers to ludwigd's messages, and its registration */
#ifndef LUDWIG_WORKER_LOOP_SERVER_MESSAGES_H
#define LUDWIG_WORKER_LOOP_SERVER_MESSAGES_H

#include "worker/agent/agent.h"

/* Makes ag->link and the outbox; server_link_start is called when the agent is ready to connect. */
void server_messages_init(struct agent *ag);
/* Called once in each turn: registers this worker and its attempts with ludwigd if that is due,
 * ludwigd has said welcome, and all attempts are known. */
void server_messages_register(struct agent *ag);

#endif

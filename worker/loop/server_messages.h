/* SPDX-License-Identifier: MIT */
/* server_messages.h - ludwigd's messages and their answers, and what it is told of this worker */
#ifndef LUDWIG_WORKER_LOOP_SERVER_MESSAGES_H
#define LUDWIG_WORKER_LOOP_SERVER_MESSAGES_H

#include "worker/agent/agent.h"

/* Makes the connection and the outbox; server_link_start follows when we are ready. */
void server_messages_init(struct agent *ag);
/* Once in each turn: tells ludwigd of this worker and of the attempts it holds, if that has
 * changed, ludwigd is there, and all of it is known. */
void server_messages_register(struct agent *ag);

#endif

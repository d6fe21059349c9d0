/* SPDX-License-Identifier: MIT */
/* server_messages.h - what ludwigd says, and what is answered */
#ifndef LUDWIG_WORKER_LOOP_SERVER_MESSAGES_H
#define LUDWIG_WORKER_LOOP_SERVER_MESSAGES_H

#include "worker/agent/agent.h"

/* Makes the connection and the outbox; server_link_start follows when we are ready. */
void server_messages_init(struct agent *ag);

#endif

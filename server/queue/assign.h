/* SPDX-License-Identifier: MIT */
/*
 * assign.h - carries out the scheduler's plan: makes attempts of queued jobs, sends them as hands
 */
#ifndef LUDWIG_SERVER_QUEUE_ASSIGN_H
#define LUDWIG_SERVER_QUEUE_ASSIGN_H

#include "server/base/server.h"

/* Runs the scheduler once and carries out its plan; call it inside a turn.  Returns 1 when a hand
 * was cut short, so that another turn is needed, else 0, -1 with e set. */
int assign_run(struct server *sv, struct err *e);

#endif

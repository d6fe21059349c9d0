/* SPDX-License-Identifier: MIT */
/*
 * assign.h - carries out what the scheduler decides: jobs become attempts, attempts hands
 */
#ifndef LUDWIG_SERVER_QUEUE_ASSIGN_H
#define LUDWIG_SERVER_QUEUE_ASSIGN_H

#include "server/base/server.h"

/* One pass; called inside a turn. 1: there is more to hand out in a next turn, 0, or -1. */
int assign_run(struct server *sv, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * schedule.h - carries out what the scheduler decides: jobs become attempts, attempts hands
 */
#ifndef LUDWIG_SERVER_QUEUE_SCHEDULE_H
#define LUDWIG_SERVER_QUEUE_SCHEDULE_H

#include "server/base/server.h"

/* One pass; called inside a turn. 1: there is more to hand out in a next turn, 0, or -1. */
int schedule_run(struct server *sv, struct err *e);

#endif

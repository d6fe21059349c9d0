/* SPDX-License-Identifier: MIT */
/*
 * pilot.h - a pilot's worker comes, and goes
 *
 * By the token that its job was submitted with, a worker is known to be a pilot.  It is given the
 * jobs of those sweeps that name its pool, as long as they can end within its time.
 */
#ifndef LUDWIG_SERVER_QUEUE_PILOT_H
#define LUDWIG_SERVER_QUEUE_PILOT_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* In a hello: whose pilot is it?  -1 when there is none of that token.  One that is here has not ended,
 * whatever Slurm may have said. */
int pilot_pair(struct server *sv, struct conn *c, const struct pilot_claim *claim, struct arena *a,
               struct err *e);
/* Its worker has that row.  In a turn. */
int pilot_registered(struct server *sv, struct conn *c, int64_t worker, struct err *e);
/* Its connection has ended. */
void pilot_left(struct server *sv, const struct conn *c);

#endif

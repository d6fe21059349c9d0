/* SPDX-License-Identifier: MIT */
/*
 * pilot.h - a pilot's worker comes, and goes
 *
 * By the token that its job was submitted with, a worker is known to be a pilot.  It is given the
 * jobs of those sweeps that name its pool, as long as they can end within its time.
 */
#ifndef LUDWIG_SERVER_PILOT_H
#define LUDWIG_SERVER_PILOT_H

#include "server/conn.h"
#include "server/server.h"

/* For what comes after a job has ended: its results, and the pilot's own end. */
enum { PILOT_MARGIN_MS = 30 * 1000 };

/* In a hello: whose pilot is it?  -1 when there is none of that token.  One that is here has not ended,
 * whatever Slurm may have said. */
int pilot_pair(struct server *sv, struct conn *c, const struct pilot_claim *claim, struct arena *a,
               struct err *e);
/* Its worker has that row.  In a turn. */
int pilot_registered(struct server *sv, struct conn *c, int64_t worker, struct err *e);
/* Its connection has ended. */
void pilot_left(struct server *sv, const struct conn *c);

/* What is known of how long a job takes; 0: it is not. */
struct pilot_need {
    int64_t time_ms; /* as its sweep declares it */
    int64_t mean_ms; /* of those that have ended */
};

/* How long one may take, its results included; 0: nobody knows. */
int64_t pilot_need_ms(const struct pilot_need *need);
/* Can such a job end, and be published, before the pilot's time does? */
bool pilot_has_time(const struct conn *c, const struct pilot_need *need, int64_t now_ms);

#endif

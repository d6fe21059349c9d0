/* SPDX-License-Identifier: MIT */
/*
 * pilots.h - pilots are submitted, followed and cancelled as the queue needs them
 *
 * One thing at a time: a command of Slurm's runs beside the loop, and its answer is written in the
 * turn after.  The next step is found anew each time, from the database alone, so that it goes on
 * after a restart where it was.  Slurm is not asked about pilots that are heard: they report by
 * themselves.  Waiting pilots are looked at together, PILOTS_LOOK_FIRST_MS after a submission, else
 * not more often than PILOTS_LOOK_EVERY_MS, and less often the longer nothing changes.
 */
#ifndef LUDWIG_SERVER_PILOT_PILOTS_H
#define LUDWIG_SERVER_PILOT_PILOTS_H

#include "server/base/server.h"
#include "server/conn/conn.h"

enum {
    PILOTS_LOOK_FIRST_MS = 4 * 1000, /* by then Slurm's reason shows which pilots can never start */
    PILOTS_LOOK_EVERY_MS = 30 * 1000,
    PILOTS_LOOK_SELDOM_MS = 5 * 60 * 1000,
    PILOTS_KEPT_MS = 7 * 24 * 3600 * 1000 /* rows of pilots that have ended */
};

struct pilots *pilots_create(struct server *sv, struct err *e);
void pilots_destroy(struct pilots *p); /* NULL is fine */

/* The queue has changed. */
void pilots_wake(struct server *sv);
/* A sweep with pools is about to come: asks Slurm for its partitions and limits. */
void pilots_expect(struct server *sv);
/* Adds the pools of a submitted sweep; what Slurm refused before is tried again.  In a turn. */
int pilots_take_pools(struct server *sv, const struct conn *c, int64_t sweep,
                      const struct list *pools, struct err *e);
/* A pilot's worker is there, or a user asks anew for the pool's pilots. */
void pilots_try_anew(struct server *sv, int64_t pool);
/* Jobs were cancelled: sends away pilots whose pools have nothing left at all.  In a turn. */
void pilots_let_go(struct server *sv);
/* The pilot's worker takes no more jobs, and leaves when those that it has are over.  In a turn. */
void pilots_retire(struct server *sv, struct conn *c, const char *reason);
/* A worker, perhaps a pilot's, has gone without a word or is silent, or its lease is over: asks
 * Slurm. */
void pilots_lost_sight(struct server *sv);

/* A pool and its owner. */
struct pilot_owner {
    uid_t uid;
    const char *user;
    int64_t pool;
    const struct slurm_pool *spec;
};

/* Why this pool gets no pilots for now, in the arena; NULL: nothing is known to be wrong. */
const char *pilots_trouble(struct server *sv, int64_t pool, struct arena *a);
/* Tells that the pool has as many pilots as its account or QOS may have; NULL: it may have more. */
const char *pilots_limit(struct server *sv, const struct pilot_owner *of, struct arena *a);
/* The time of pilots in that partition that ask for none; 0: not known. */
int64_t pilots_default_time_ms(const struct server *sv, const char *user,
                               const struct slurm_pool *pool);
/* Commands of Slurm's of the last hour; SCHEMA_NONE: there were no pilots since ludwigd started. */
int64_t pilots_calls(struct server *sv);

#endif

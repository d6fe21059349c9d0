/* SPDX-License-Identifier: MIT */
/*
 * pilots.h - pilots are submitted, followed and cancelled as the queue needs them
 *
 * One thing at a time: a command of Slurm's runs beside the loop, and what it said is written in the
 * turn after.  What is to be done next is found out anew each time, from the database alone, so that
 * it goes on after a restart where it was.  Nothing is asked while pilots work: they report by
 * themselves.  Those that wait are looked at together, not more often than LOOK_EVERY_MS, and less
 * often the longer nothing changes.
 */
#ifndef LUDWIG_SERVER_PILOT_PILOTS_H
#define LUDWIG_SERVER_PILOT_PILOTS_H

#include "server/base/server.h"
#include "server/conn/conn.h"

enum {
    PILOTS_LOOK_FIRST_MS = 4 * 1000, /* what can never start shows in its reason by then */
    PILOTS_LOOK_EVERY_MS = 30 * 1000,
    PILOTS_LOOK_SELDOM_MS = 5 * 60 * 1000,
    PILOTS_KEPT_MS = 7 * 24 * 3600 * 1000 /* the rows of those that have ended */
};

struct pilots *pilots_create(struct server *sv, struct err *e);
void pilots_destroy(struct pilots *p); /* NULL is fine */

/* The queue has changed. */
void pilots_wake(struct server *sv);
/* A sweep with pools is about to come: Slurm is asked what it has. */
void pilots_expect(struct server *sv);
/* The pools of a sweep that is submitted: from now on they are looked at; what Slurm has refused before
 * is tried again.  In a turn. */
int pilots_take_pools(struct server *sv, const struct conn *c, int64_t sweep,
                      const struct list *pools, struct err *e);
/* The worker of one is there, or somebody asks for its pool's pilots anew. */
void pilots_try_anew(struct server *sv, int64_t pool);
/* Something was cancelled: those whose pools have nothing left at all are sent away.  In a turn. */
void pilots_let_go(struct server *sv);
/* Its worker takes nothing more, and leaves when what it has is over.  In a turn. */
void pilots_retire(struct server *sv, struct conn *c, const char *reason);
/* A worker, perhaps one's, has gone without a word, or its lease is over: what does Slurm say? */
void pilots_lost_sight(struct server *sv);

/* A pool, and whose it is. */
struct pilot_owner {
    uid_t uid;
    const char *user;
    int64_t pool;
    const struct slurm_pool *spec;
};

/* Why this pool gets no pilots for now, in the arena; NULL: nothing is known to be wrong. */
const char *pilots_trouble(struct server *sv, int64_t pool, struct arena *a);
/* That it has as many as its account or QOS may have; NULL: it may have more. */
const char *pilots_limit(struct server *sv, const struct pilot_owner *of, struct arena *a);
/* Of pilots in that partition that ask for none; 0: not known. */
int64_t pilots_default_time_ms(const struct server *sv, const char *user,
                               const struct slurm_pool *pool);
/* Commands of Slurm's of the last hour; SCHEMA_NONE: there were no pilots since ludwigd started. */
int64_t pilots_calls(struct server *sv);

#endif

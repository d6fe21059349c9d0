/* SPDX-License-Identifier: MIT */
/*
 * pilots.h - submits, follows and cancels pilots as the queue needs them
 *
 * ludwigd does one thing at a time here: a Slurm command runs beside the loop, and a later turn
 * writes down its answer.  Only submissions run beside everything else, one of each user, as a
 * user's sbatch may hang.  Each next step is decided from the database alone, so that ludwigd goes
 * on after a restart where it was.  Slurm is not asked about pilots whose workers are connected.
 * Waiting pilots are looked at together: PILOTS_LOOK_FIRST_MS after a submission, else at most
 * every PILOTS_LOOK_EVERY_MS, and less often the longer nothing changes.
 */
#ifndef LUDWIG_SERVER_PILOT_PILOTS_H
#define LUDWIG_SERVER_PILOT_PILOTS_H

#include "server/base/server.h"
#include "server/conn/conn.h"

enum {
    PILOTS_LOOK_FIRST_MS = 4 * 1000, /* by then Slurm's reason shows which pilots can never start */
    PILOTS_LOOK_EVERY_MS = 30 * 1000,
    PILOTS_LOOK_SELDOM_MS = 5 * 60 * 1000,
    PILOTS_KEPT_MS = 7 * 24 * 3600 * 1000 /* how long rows of ended pilots are kept */
};

struct pilots *pilots_create(struct server *sv, struct err *e);
void pilots_destroy(struct pilots *p); /* NULL is fine */

/* The queue has changed: decides soon about the next step. */
void pilots_wake(struct server *sv);
/* A sweep with pools is about to be submitted: asks Slurm about its partitions and limits. */
void pilots_expect(struct server *sv);
/* In a turn: adds the pools of a submitted sweep; what Slurm refused there is tried again. */
int pilots_take_pools(struct server *sv, const struct conn *c, int64_t sweep,
                      const struct list *pools, struct err *e);
/* Ends the pool's back-off, as one of its pilots has connected or a user submits to it again. */
void pilots_try_anew(struct server *sv, int64_t pool);
/* In a turn that cancelled jobs: later ends pilots whose pools have no jobs left at all. */
void pilots_let_go(struct server *sv);
/* A worker, perhaps a pilot's, vanished, is silent or lost its lease: asks Slurm about pilots. */
void pilots_lost_sight(struct server *sv);

/* A pool and its owner. */
struct pilot_owner {
    uid_t uid;
    const char *user;
    int64_t pool;
    const struct slurm_pool *spec;
};

/* Why the pool gets no pilots for now, in the arena; NULL: nothing is known to be wrong. */
const char *pilots_trouble(struct server *sv, int64_t pool, struct arena *a);
/* A sentence if the pool has all the pilots its account or QOS may have; NULL: it may have more. */
const char *pilots_limit(struct server *sv, const struct pilot_owner *of, struct arena *a);
/* The time that a pilot of the pool gets if it asks for none; 0: not known. */
int64_t pilots_default_time_ms(const struct server *sv, const char *user,
                               const struct slurm_pool *pool);
/* How many Slurm commands ran in the last hour; SCHEMA_NONE: no pilots since ludwigd started. */
int64_t pilots_calls(struct server *sv);

#endif

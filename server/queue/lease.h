/* SPDX-License-Identifier: MIT */
/*
 * lease.h - how long a worker that is away or silent keeps its attempts
 *
 * A worker's lease begins anew with each of its messages, when its connection ends, and when
 * ludwigd starts: it counts only while ludwigd runs.  When the lease is over, ludwigd cuts the
 * worker's connection, as sshd may hold one for hours where a cable is out or a machine lost its
 * power, and counts the worker's live attempts as lost.  If ludwigd itself was held up, it first
 * reads what came meanwhile.
 *
 * A connected worker counts as silent earlier, as soon as two of its signs of life are missing:
 * about a pilot, Slurm may know more.  A connection made of files has no other sign of its end.
 */
#ifndef LUDWIG_SERVER_QUEUE_LEASE_H
#define LUDWIG_SERVER_QUEUE_LEASE_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* lost_sight is called when a connected worker has become silent, and when a lease ran out, after
 * the worker's attempts were marked lost. */
struct leases *leases_create(struct server *sv, void (*lost_sight)(struct server *sv));
void leases_destroy(struct leases *l); /* before the loop is closed; NULL is fine */

/* At start: every worker that holds live attempts gets a lease. */
int leases_load(struct server *sv, struct err *e);
/* Begins the lease of a worker that is connected or has just gone. */
void lease_begin(struct server *sv, int64_t worker);
/* Turn work: records that the worker was last seen now. */
int lease_note_seen(struct server *sv, int64_t worker, struct err *e);
/* Whether the worker's lease still runs, so that the worker may come back with its attempts. */
bool lease_is_running(const struct server *sv, int64_t worker);
/* Whether a connected worker is silent. */
bool lease_is_silent(const struct server *sv, const struct conn *c);

#endif

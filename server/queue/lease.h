/* SPDX-License-Identifier: MIT */
/*
 * A lease begins when a worker's connection ends, with each message of a connected worker, and anew
 * when ludwigd starts: it counts only while ludwigd runs.  A connected worker that is silent for
 * that long is cut off: where a cable is out or a machine lost its power, sshd may hold the
 * connection for hours.  If ludwigd itself was held up, it first reads what came meanwhile.
 *
 * Before that it counts as silent, as soon as two of its signs of life are missing: of a pilot,
 * Slurm may know more.  A connection that is made of files has no other sign of its end.
 */
#ifndef LUDWIG_SERVER_QUEUE_LEASE_H
#define LUDWIG_SERVER_QUEUE_LEASE_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* lost_sight is called when a connected worker has become silent, and after a lease ran out and its
 * jobs were queued again. */
struct leases *leases_create(struct server *sv, void (*lost_sight)(struct server *sv));
void leases_destroy(struct leases *l); /* before the loop is closed; NULL is fine */

/* At start: every worker that holds live attempts gets a lease. */
int leases_load(struct server *sv, struct err *e);
/* Begins a worker's lease: the worker is connected, or has just gone. */
void lease_begin(struct server *sv, int64_t worker);
/* Work for a turn: writes that the worker was last seen now. */
int lease_note_seen(struct server *sv, int64_t worker, struct err *e);
/* Whether the worker's lease still runs: the worker may come back with its attempts. */
bool lease_is_running(const struct server *sv, int64_t worker);
/* Whether a connected worker is silent. */
bool lease_is_silent(const struct server *sv, const struct conn *c);

#endif

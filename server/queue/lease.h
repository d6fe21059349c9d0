/* SPDX-License-Identifier: MIT */
/*
 * lease.h - how long a worker may be silent before its jobs are given out again
 *
 * A lease begins when a worker's connection ends, with each message of one that is
 * connected, and anew when ludwigd starts: it counts only while ludwigd runs.  A worker that is
 * connected and silent for that long is cut off: where a cable is out or a machine lost
 * its power, sshd may hold the connection for hours.  If ludwigd itself was held up, what lay in its
 * sockets meanwhile is read first.
 */
#ifndef LUDWIG_SERVER_QUEUE_LEASE_H
#define LUDWIG_SERVER_QUEUE_LEASE_H

#include "server/base/server.h"

/* over: one's was over, and what it had is given out again. */
struct leases *leases_create(struct server *sv, void (*over)(struct server *sv));
void leases_destroy(struct leases *l); /* before the loop is closed; NULL is fine */

/* At start: every worker that holds live attempts gets a lease. */
int leases_load(struct server *sv, struct err *e);
/* A worker is connected, or has just gone. */
void lease_begin(struct server *sv, int64_t worker);
/* Work for a turn: until now it was heard of. */
int lease_note_seen(struct server *sv, int64_t worker, struct err *e);
/* It is not over: the worker may be back, and have what it had. */
bool lease_is_running(const struct server *sv, int64_t worker);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * submit_cleanup.h - removes sweeps whose submit was not completed
 *
 * From submit_begin to submit_end a sweep is open, invisible, and bound to the connection of its
 * submit.  If that connection closes first (or ludwigd is killed), the sweep is removed from the
 * database, some rows a turn.  The numbers that its configurations got stay.
 */
#ifndef LUDWIG_SERVER_QUEUE_SUBMIT_CLEANUP_H
#define LUDWIG_SERVER_QUEUE_SUBMIT_CLEANUP_H

#include "server/base/server.h"

enum { SUBMITS_OPEN_MAX = 16, CLEAR_AT_ONCE = 1000 };

/* Turn work: clears a connection's open sweeps; clears one sweep. */
int submit_clear_of_conn(struct server *sv, int64_t conn, struct err *e);
int submit_clear(struct server *sv, int64_t sweep, struct err *e);

/* At start: clears all open sweeps, as no connection can complete them any more. */
int submit_clear_all(struct server *sv, struct err *e);

#endif

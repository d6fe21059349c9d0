/* SPDX-License-Identifier: MIT */
/*
 * submit_cleanup.h - clearing away submits that were not ended
 *
 * A sweep is open, and invisible, from submit_begin to submit_end, and belongs to the
 * connection it was begun on.  If that closes first (or ludwigd is killed), the sweep is
 * taken out of the database again, some rows a turn.  The numbers its configurations got stay.
 */
#ifndef LUDWIG_SERVER_QUEUE_SUBMIT_CLEANUP_H
#define LUDWIG_SERVER_QUEUE_SUBMIT_CLEANUP_H

#include "server/base/server.h"

enum { SUBMITS_OPEN_MAX = 16, CLEAR_AT_ONCE = 1000 };

/* Work for a turn. */
int submit_clear_of_conn(struct server *sv, int64_t conn, struct err *e);
int submit_clear(struct server *sv, int64_t sweep, struct err *e);

/* At start: clears all open sweeps, as no connection can end them any more. */
int submit_clear_all(struct server *sv, struct err *e);

#endif

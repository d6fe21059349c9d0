/* SPDX-License-Identifier: MIT */
/*
 * worker_rows.h - the table of workers: rows are made at registration, and unused ones forgotten
 *
 * The row of a worker that ever held an attempt is kept, as its jobs refer to it.  Anybody may
 * register workers, so a worker that never held an attempt is forgotten once it is away.
 */
#ifndef LUDWIG_SERVER_QUEUE_WORKER_ROWS_H
#define LUDWIG_SERVER_QUEUE_WORKER_ROWS_H

#include "server/base/server.h"
#include "server/conn/conn.h"

enum {
    WORKER_SHOWN_MS = 24 * 3600 * 1000, /* how long an idle worker that is away is listed, kept */
    WORKERS_UNUSED_MAX = 250 /* unused rows of one user; for one more the longest unseen goes */
};

/* Makes or updates the row of a worker that registers; returns the row's id, -1 with e set. */
int64_t worker_row_save(struct server *sv, const struct conn *c, const struct msg_register *r,
                        struct err *e);
/* Marks a worker that was given an attempt as used. */
int worker_row_used(struct server *sv, int64_t worker, struct err *e);

/* Turn work: forgets some unused workers not seen for WORKER_SHOWN_MS; drained ones are kept.
 * Returns 1 to be called again, 0, -1. */
int worker_rows_forget(struct server *sv, int64_t unused, struct err *e);

#endif

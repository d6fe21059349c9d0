/* SPDX-License-Identifier: MIT */
/*
 * worker_rows.h - the table of workers: who registered, and who is forgotten
 *
 * A worker that held an attempt is kept, as its jobs name it.  Anybody may register workers: one
 * that never held any is forgotten once it is away.
 */
#ifndef LUDWIG_SERVER_QUEUE_WORKER_ROWS_H
#define LUDWIG_SERVER_QUEUE_WORKER_ROWS_H

#include "server/base/server.h"
#include "server/conn/conn.h"

enum {
    WORKER_SHOWN_MS = 24 * 3600 * 1000, /* one that is away and holds nothing: shown, and kept */
    WORKERS_UNUSED_MAX = 250 /* of one user: beyond that the one seen longest ago is forgotten */
};

/* Makes the row of the worker that registers, or brings it up to date: its id, -1 with e set. */
int64_t worker_row_save(struct server *sv, const struct conn *c, const struct msg_register *r,
                        struct err *e);
/* The worker was given an attempt. */
int worker_row_used(struct server *sv, int64_t worker, struct err *e);

/* Work for a turn: forgets workers that never held an attempt and are away, some at a time; drained
 * ones are kept. */
int worker_rows_forget(struct server *sv, int64_t unused, struct err *e);

#endif

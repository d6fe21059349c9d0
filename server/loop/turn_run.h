/* SPDX-License-Identifier: MIT */
/*
 * turn_run.h - ludwigd's turn: messages in, one transaction, effects out
 *
 * A turn takes one message of each user, round and round, until TURN_ROWS_MAX rows are written or
 * TURN_MS_MAX are over.  A handler that fails is rolled back, and its asker is told why; if the
 * commit fails, all askers of the turn are told.
 *
 * Nothing outside turn*.c begins or commits a transaction.
 */
#ifndef LUDWIG_SERVER_LOOP_TURN_RUN_H
#define LUDWIG_SERVER_LOOP_TURN_RUN_H

#include <stdint.h>

#include "common/base/err.h"

struct server;
struct turn;

struct turn_stats {
    int64_t turns;
    int64_t longest_ns; /* of one turn, commit and effects included */
};

/* NULL with e set when the database cannot be read. */
struct turn *turn_create(struct server *sv, struct err *e);
void turn_destroy(struct turn *t); /* NULL is fine */
struct turn_stats turn_stats(const struct turn *t);

#endif

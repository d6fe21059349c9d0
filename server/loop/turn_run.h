/* SPDX-License-Identifier: MIT */
/*
 * turn_run.h - ludwigd's turn: messages in, one transaction, effects out
 *
 * A turn takes a message of each user, round and round, at most TURN_ROWS_MAX written rows or
 * TURN_MS_MAX of work.  A handler that fails is rolled back, and its asker is told
 * why; if the commit fails every asker is told.
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

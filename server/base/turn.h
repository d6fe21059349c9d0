/* SPDX-License-Identifier: MIT */
/*
 * turn.h - ludwigd's turn, for handlers: effects at its end, work for the next one, clock, counter
 *
 * A turn (turn_run.h) is one transaction.  Each handler writes inside a savepoint and appends
 * effects; a handler that fails is rolled back with its effects.  After the commit the effects run;
 * if the commit fails they are dropped.
 */
#ifndef LUDWIG_SERVER_BASE_TURN_H
#define LUDWIG_SERVER_BASE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
    TURN_ROWS_MAX = 20000,
    TURN_MS_MAX = 10,
    TURN_PAUSE_MS = 1000 /* for ludwigd's own work after a commit failed: the disk may be full */
};

struct server;
struct turn;

/* Asks for a turn soon: a message came, a timer ran out, a slow job has more to do. */
void turn_wake(struct turn *t);

/*
 * Work of ludwigd's own (a lease that ran out, clearing away an abandoned submit): runs inside
 * the next turn in a savepoint of its own.  run returns 1 to be called again in a later turn,
 * 0 when done, -1 with e set (logged, then dropped).  If the turn's commit fails it is
 * called again after TURN_PAUSE_MS.  The same (run, key) is queued once.
 */
typedef int (*turn_work_fn)(struct server *sv, int64_t key, struct err *e);
void turn_add_work(struct turn *t, turn_work_fn run, int64_t key);
/* Whether it is still to be called, perhaps again. */
bool turn_has_work(const struct turn *t, turn_work_fn run, int64_t key);

/* ---- for handlers and work, inside a turn: effects, dropped if they fail ---- */

/* Runs after the commit; argument must not point into anything that may vanish.  The same twice in
 * a row is run once. */
void turn_after(struct server *sv, void (*run)(struct server *sv, int64_t argument),
                int64_t argument);
/* The same with a context, which either run or drop takes over. */
void turn_after_with(struct server *sv, void (*run)(struct server *sv, void *context),
                     void (*drop)(void *context), void *context);
/* The scheduler runs before this turn (or the next one) commits. */
void turn_want_schedule(struct server *sv);
/* The scheduler runs again in ms milliseconds at the latest. */
void turn_want_schedule_in(struct server *sv, int64_t ms);
/* The queue's need for pilots (pilots.h) may have changed. */
void turn_want_pilots(struct server *sv);

/* The next number of the counter that all changes share. */
int64_t turn_next_version(struct server *sv);
/* The last number given out. */
int64_t turn_version(const struct server *sv);

/* The wall clock at the beginning of the turn. */
int64_t turn_now_ms(const struct server *sv);
/* The turn has done enough: work that can go on in a later turn should stop. */
bool turn_is_full(const struct server *sv);

/* Calls run in a savepoint; if it returns -1, its writes and its effects are undone. */
typedef int (*turn_step_fn)(struct server *sv, void *context, struct err *e);
int turn_step(struct server *sv, turn_step_fn run, void *context, struct err *e);

#endif

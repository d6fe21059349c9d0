/* SPDX-License-Identifier: MIT */
/*
 * turn.h - what handlers do with ludwigd's turn: add effects and work, read its clock and counter
 *
 * A turn (turn_run.h) is one transaction.  Each handler writes inside a savepoint and appends
 * effects; if it fails, its writes are rolled back and its effects dropped.  After the commit the
 * effects run; if the commit fails they are dropped.
 */
#ifndef LUDWIG_SERVER_BASE_TURN_H
#define LUDWIG_SERVER_BASE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
    TURN_ROWS_MAX = 20000, /* a turn that has changed so many rows is full, */
    TURN_MS_MAX = 10,      /* and one that has lasted so long */
    TURN_PAUSE_MS = 1000   /* no turn work after a failed commit: the disk may be full */
};

struct server;
struct turn;

/* Asks for a turn soon: a message came, a timer ran out, or a request has more to do. */
void turn_wake(struct turn *t);

/* Turn work: work of ludwigd's own (a lease ran out, an abandoned submit is to be cleared away),
 * which runs inside the next turn in a savepoint of its own.  run returns 1 to be called again in a
 * later turn, 0 when done, -1 with e set (logged; the work is then dropped).  If the turn's commit
 * fails, run is called again after TURN_PAUSE_MS.  The same (run, key) is queued once. */
typedef int (*turn_work_fn)(struct server *sv, int64_t key, struct err *e);
void turn_add_work(struct turn *t, turn_work_fn run, int64_t key);
/* Whether this work is queued, and not done yet. */
bool turn_has_work(const struct turn *t, turn_work_fn run, int64_t key);

/* ---- effects of handlers and turn work; dropped if these fail, run at once outside a turn ---- */

/* Calls run after the commit; argument must not be a pointer to anything that may vanish.  The same
 * run and argument twice in a row are run once. */
void turn_after(struct server *sv, void (*run)(struct server *sv, int64_t argument),
                int64_t argument);
/* The same with a context, which run takes over or, if the effect is dropped, drop. */
void turn_after_with(struct server *sv, void (*run)(struct server *sv, void *context),
                     void (*drop)(void *context), void *context);
/* Has the scheduler run before this turn, or the next one, commits. */
void turn_want_schedule(struct server *sv);
/* Has the scheduler run in ms milliseconds at the latest. */
void turn_want_schedule_in(struct server *sv, int64_t ms);
/* Tells that the queue's need for pilots (pilots.h) may have changed. */
void turn_want_pilots(struct server *sv);

/* The next version: a number of the one counter that all changes share. */
int64_t turn_next_version(struct server *sv);
/* The last version that was given out. */
int64_t turn_version(const struct server *sv);

/* The wall clock at the beginning of the turn. */
int64_t turn_now_ms(const struct server *sv);
/* Whether the turn has done enough: work that can go on in a later turn should stop. */
bool turn_is_full(const struct server *sv);

/* Calls run in a savepoint and returns its answer; if that is -1, its writes and effects are
 * undone. */
typedef int (*turn_step_fn)(struct server *sv, void *context, struct err *e);
int turn_step(struct server *sv, turn_step_fn run, void *context, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * hold_notes.h - queues the guards' turn work when jobs end or are resumed
 *
 * attempts.c notes ends and resumes of jobs here; holds.c and node_guard.c, which call attempts.c,
 * look at them as turn work.
 */
#ifndef LUDWIG_SERVER_QUEUE_HOLD_NOTES_H
#define LUDWIG_SERVER_QUEUE_HOLD_NOTES_H

#include "common/proto/states.h"
#include "server/base/server.h"
#include "server/base/turn.h"

/* Turn work of holds.c; its key is a sweep. */
struct hold_work {
    turn_work_fn look;           /* shows the guard which jobs ended, and decides */
    turn_work_fn carry_out;      /* holds or releases jobs as was decided */
    turn_work_fn settle_resumed; /* lifts holds of which users have resumed all jobs */
};

struct hold_notes;
struct hold_notes *hold_notes_create(const struct hold_work *work);
void hold_notes_destroy(struct hold_notes *n); /* NULL is fine */

/* From now on the guard looks at each end of a job of the sweep; unwatch: at failures only. */
void hold_notes_watch(struct hold_notes *n, int64_t sweep);
void hold_notes_unwatch(struct hold_notes *n, int64_t sweep);

/* Sets the turn work of node_guard.c, whose key is an attempt: it runs for each attempt that failed
 * and, while want_good is on, for each that published.  hold_notes_attempt notes such an end. */
void hold_notes_watch_ends(struct hold_notes *n, turn_work_fn look);
void hold_notes_want_good(struct hold_notes *n, bool are_wanted);
void hold_notes_attempt(struct server *sv, int64_t attempt, enum attempt_state state);

/* Within a turn: note that a job of the sweep ended, or that a user resumed a held job. */
void hold_notes_end(struct server *sv, int64_t sweep, enum job_state state);
void hold_notes_resumed(struct server *sv, int64_t sweep);
/* Whether `look` or `carry_out` work of the sweep waits. */
bool hold_notes_are_open(const struct server *sv, int64_t sweep);

#endif

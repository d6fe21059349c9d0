/* SPDX-License-Identifier: MIT */
/*
 * hold_notes.h - what the guard has to look at within the turn
 *
 * Ends and resumes of jobs are noted here by attempts.c; holds.c, which calls that, looks at them as
 * work of the same turn.
 */
#ifndef LUDWIG_SERVER_QUEUE_HOLD_NOTES_H
#define LUDWIG_SERVER_QUEUE_HOLD_NOTES_H

#include "common/proto/states.h"
#include "server/base/server.h"
#include "server/base/turn.h"

/* Work of holds.c; the key is a sweep. */
struct hold_work {
    turn_work_fn look;           /* at what ended */
    turn_work_fn carry_out;      /* what was decided */
    turn_work_fn settle_resumed; /* lifts what users have resumed */
};

struct hold_notes;
struct hold_notes *hold_notes_create(const struct hold_work *work);
void hold_notes_destroy(struct hold_notes *n); /* NULL is fine */

/* From now on each end of a job of the sweep is looked at, and not only failures; or not any more. */
void hold_notes_watch(struct hold_notes *n, int64_t sweep);
void hold_notes_unwatch(struct hold_notes *n, int64_t sweep);

/* Within a turn: a job ended; a user resumed one that was held. */
void hold_notes_end(struct server *sv, int64_t sweep, enum job_state state);
void hold_notes_resumed(struct server *sv, int64_t sweep);
/* Whether something of the sweep is still to be looked at or carried out. */
bool hold_notes_are_open(const struct server *sv, int64_t sweep);

#endif

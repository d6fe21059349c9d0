/* SPDX-License-Identifier: MIT */
/*
 * stage_notes.h - what the thread that brings datasets has to say, until it is sent
 *
 * A queue without a lock: whoever has it has one.
 */
#ifndef LUDWIG_WORKER_STAGER_STAGE_NOTES_H
#define LUDWIG_WORKER_STAGER_STAGE_NOTES_H

#include "worker/base/child_protocol.h"
#include "worker/stager/cache_room.h"

/* A note of type NOTE_STAGED, NOTE_CACHED or NOTE_EXPECTED that is to be sent on; the strings are freed
 * with it. */
struct stage_note {
    struct stage_note *next;
    int64_t re; /* NOTE_STAGED, NOTE_EXPECTED: the number of the order */
    int type;
    struct note_staged staged;
    struct note_cached cached;
    struct note_expected expected;
    struct err why;
};

struct stage_notes {
    struct stage_note *first, **last;
    int event_fd; /* readable when there are some */
};

int stage_notes_open(struct stage_notes *n, struct err *e);
void stage_notes_close(struct stage_notes *n);

/* why NULL: it is there. */
void stage_note_staged(struct stage_notes *n, const struct digest *tree, int64_t seq,
                       bool is_guarded, const struct err *why, bool retry);
void stage_note_cached(struct stage_notes *n, const struct cache_tree *t, bool is_gone);
void stage_note_expected(struct stage_notes *n, int64_t seq);
struct stage_note *stage_notes_next(struct stage_notes *n); /* NULL: no more; free it */

#endif

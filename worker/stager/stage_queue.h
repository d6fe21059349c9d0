/* SPDX-License-Identifier: MIT */
/*
 * stage_queue.h - datasets that are brought one after the other, while their stager does other things
 *
 * A thread brings them, as that takes as long as it takes; which trees are in use, and which are
 * being removed to make room, both know.
 */
#ifndef LUDWIG_WORKER_STAGER_STAGE_QUEUE_H
#define LUDWIG_WORKER_STAGER_STAGE_QUEUE_H

#include "worker/base/child_protocol.h"
#include "worker/base/scratch.h"
#include "worker/stager/cache.h"

struct stage_queue;

/* A note of type NOTE_STAGED, NOTE_CACHED or NOTE_EXPECTED that is to be sent on; its strings are freed
 * with it. */
struct stage_note {
    struct stage_note *next;
    int64_t re; /* the number of the order; NOTE_CACHED: none */
    int type;
    union {
        struct note_staged staged;
        struct note_cached cached;
        struct order_nothing expected;
    } body;
    struct err why;
};

/* scratch must live as long; its folders are only read from the thread.  NULL with e set. */
struct stage_queue *stage_queue_create(struct scratch *scratch, const struct share_source *source,
                                       int guard_fd, struct err *e);
/* false: it is bringing something; what it is at ends with the process. */
bool stage_queue_destroy(struct stage_queue *q);

/* Readable when there are notes. */
int stage_queue_fd(const struct stage_queue *q);
/* To be sent on. */
struct stage_note *stage_queue_next(struct stage_queue *q); /* NULL: no more; free it */

/* The tree is in use until it is released.  Looks at it if it is there, else has it brought; notes
 * follow.  seq: the order's number; of several orders the newest is answered. */
void stage_queue_stage(struct stage_queue *q, const struct order_stage *x, int64_t seq);
void stage_queue_release(struct stage_queue *q, const struct order_release *x);
/* Brings those that are not there while no other order waits, instead of what was expected before; a note
 * says when that is over.  They are not in use, so whatever a job waits for may remove them. */
void stage_queue_expect(struct stage_queue *q, const struct order_expect *x, int64_t seq);
/* Notes of all trees that the cache holds. */
void stage_queue_list(struct stage_queue *q);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * send_queue.h - what was packed and is not sent yet, between the thread that packs and the one that sends
 *
 * Hands on what a pack_sink is given, in that order.  It holds a bounded number of bytes: the thread
 * that packs waits while it is full, the one that sends while it is empty.
 */
#ifndef LUDWIG_CLIENT_PACK_SEND_QUEUE_H
#define LUDWIG_CLIENT_PACK_SEND_QUEUE_H

#include "common/pack/pack.h"

/* In memory; the record that does not fit any more comes on top. */
enum { SEND_QUEUE_MAX_BYTES = 24 * 1024 * 1024 };

struct send_queue;

struct send_queue *send_queue_create(void);
/* NULL is fine.  Neither thread may use it any more. */
void send_queue_destroy(struct send_queue *q);

/* ---- for the thread that packs: -1 with e set once the other one has called send_queue_stop ---- */

int send_queue_part_begin(struct send_queue *q, unsigned slot, struct err *e);
int send_queue_part_write(struct send_queue *q, unsigned slot, struct bytes bytes, struct err *e);
int send_queue_part_end(struct send_queue *q, unsigned slot, const struct pack_part *part,
                        struct bytes list, struct err *e);
int send_queue_object(struct send_queue *q, enum pack_object kind, const struct digest *name,
                      struct bytes bytes, struct err *e);
/* The file at this path below the packs is relied on: see store_touch. */
int send_queue_touch(struct send_queue *q, const char *path, struct err *e);
/* So many files were packed to their ends, and so many bytes of files, since the last call. */
int send_queue_progress(struct send_queue *q, uint64_t files, uint64_t bytes, struct err *e);
/* Nothing more comes; why: what went wrong, NULL: nothing did. */
void send_queue_end(struct send_queue *q, const struct err *why);

/* ---- for the thread that sends ---- */

struct send_queue_sink {
    struct pack_sink to; /* without known */
    int (*touch)(void *context, const char *path, struct err *e);
    void (*progress)(void *context, uint64_t files, uint64_t bytes);
    void (*empty)(void *context); /* what was handed on may go out, as more is waited for */
};

/* Hands on all that comes until send_queue_end.  -1: the error of the sink, or the one that
 * send_queue_end was given. */
int send_queue_deliver(struct send_queue *q, const struct send_queue_sink *sink, struct err *e);
/* What comes is not wanted any more. */
void send_queue_stop(struct send_queue *q);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * send_queue.h - what was packed and is not sent yet, between the thread that packs and the one that sends
 *
 * It holds a bounded number of bytes: the thread that packs waits while it is full, the one that sends
 * while it is empty.
 */
#ifndef LUDWIG_CLIENT_PACK_SEND_QUEUE_H
#define LUDWIG_CLIENT_PACK_SEND_QUEUE_H

#include "common/pack/pack.h"

/* In memory; the record that does not fit any more comes on top. */
enum { SEND_QUEUE_MAX_BYTES = 24 * 1024 * 1024 };

/* What a pack_sink is given; a file among the packs that is relied on (bytes: its path with its NUL, as
 * store_touch takes it); only figures. */
enum send_kind {
    SEND_PART_BEGIN,
    SEND_PART_WRITE,
    SEND_PART_END,
    SEND_OBJECT,
    SEND_TOUCH,
    SEND_PROGRESS
};

struct send_record {
    struct send_record *next; /* the queue's */
    enum send_kind kind;
    unsigned slot;
    struct pack_part part;
    enum pack_object object;
    struct digest name;
    struct bytes bytes;
    uint64_t files, file_bytes; /* so much was packed to its end, beside what came before */
};

struct send_queue;

struct send_queue *send_queue_create(void);
/* NULL is fine.  Neither thread may use it any more. */
void send_queue_destroy(struct send_queue *q);

/* ---- for the thread that packs: -1 with e set once the other one has called send_queue_stop ---- */

/* Copies the record and its bytes. */
int send_queue_add(struct send_queue *q, const struct send_record *record, struct err *e);
/* So many files were packed to their ends, and so many bytes of files, since the last call. */
int send_queue_progress(struct send_queue *q, uint64_t files, uint64_t bytes, struct err *e);
/* Nothing more comes; why: what went wrong, NULL: nothing did. */
void send_queue_end(struct send_queue *q, const struct err *why);

/* ---- for the thread that sends ---- */

/* The next record, which the caller frees; NULL: nothing more comes or, unless waits is set, there is
 * none at the moment. */
struct send_record *send_queue_take(struct send_queue *q, bool waits);
/* Once nothing more comes: 0, or -1 with what send_queue_end was given. */
int send_queue_check(const struct send_queue *q, struct err *e);
/* What comes is not wanted any more. */
void send_queue_stop(struct send_queue *q);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * send_queue.h - a queue of packed data between the thread that packs and the thread that sends
 *
 * The queue holds a bounded number of bytes: the packing thread waits while it is full, the sending
 * thread while it is empty.
 */
#ifndef LUDWIG_CLIENT_PACK_SEND_QUEUE_H
#define LUDWIG_CLIENT_PACK_SEND_QUEUE_H

#include "common/pack/pack.h"

/* Bytes of records in memory; the last record may exceed the limit. */
enum { SEND_QUEUE_MAX_BYTES = 24 * 1024 * 1024 };

/* The calls of a pack_sink, and two more: SEND_TOUCH has a file of the packs touched (store_touch;
 * bytes has its path with the NUL), SEND_PROGRESS has only figures. */
enum send_kind {
    SEND_PART_BEGIN,
    SEND_PART_WRITE,
    SEND_PART_END,
    SEND_OBJECT,
    SEND_TOUCH,
    SEND_PROGRESS
};

struct send_record {
    struct send_record *next; /* for the queue alone */
    enum send_kind kind;
    unsigned slot;
    struct pack_part part;
    enum pack_object object;
    struct digest name;
    struct bytes bytes;
    uint64_t files, file_bytes; /* how many were packed since the record before */
};

struct send_queue;

struct send_queue *send_queue_create(void);
/* NULL is fine.  Call it when neither thread uses the queue any more. */
void send_queue_destroy(struct send_queue *q);

/* ---- for the packing thread: -1 with e set once the other has called send_queue_stop ---- */

/* Copies the record and its bytes. */
int send_queue_add(struct send_queue *q, const struct send_record *record, struct err *e);
/* Adds numbers of files and bytes of files that were packed since the last call. */
int send_queue_progress(struct send_queue *q, uint64_t files, uint64_t bytes, struct err *e);
/* Tells the sending thread that no more records come; why: the error of packing, or NULL. */
void send_queue_end(struct send_queue *q, const struct err *why);

/* ---- for the sending thread ---- */

/* Returns the next record, which the caller frees; NULL: no more come or, unless waits is set, the
 * queue is empty at the moment. */
struct send_record *send_queue_take(struct send_queue *q, bool waits);
/* Call it once no more records come: returns 0, or -1 with the error given to send_queue_end. */
int send_queue_check(const struct send_queue *q, struct err *e);
/* Tells the packing thread that no more records are wanted. */
void send_queue_stop(struct send_queue *q);

#endif

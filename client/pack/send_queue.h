/* SPDX-License-Identifier: MIT */
/*
 * send_queue.h - what was packed and is not sent yet: a queue
 *
 * Takes what a pack_sink is given, in order, and hands it on in that order.  It waits in memory; when
 * that is full, some more waits on the disk (see spill.h), which is for the time until a line is up to
 * its speed: what is packed then need not be packed later, when the line would wait for it.
 */
#ifndef LUDWIG_CLIENT_PACK_SEND_QUEUE_H
#define LUDWIG_CLIENT_PACK_SEND_QUEUE_H

#include "common/pack/pack_write.h"

enum {
    /* In memory, and less the more files there are, which take memory elsewhere; what is being
     * compressed comes on top. */
    SEND_QUEUE_MAX_BYTES = 24 * 1024 * 1024,
    /* On the disk, ever; should it take less than that, the file that is packed then goes to memory. */
    SEND_QUEUE_SPILL_BYTES = 128 * 1024 * 1024
};

struct send_queue;

struct send_queue *send_queue_create(void);
void send_queue_destroy(struct send_queue *b); /* NULL is fine */

/* How many bytes the next file may add; 0: it is full.  What is larger is better sent as it is
 * read: here it counts when all of it was handed on. */
uint64_t send_queue_room(const struct send_queue *b);

void send_queue_part_begin(struct send_queue *b, unsigned slot);
void send_queue_part_write(struct send_queue *b, unsigned slot, struct bytes bytes);
void send_queue_part_end(struct send_queue *b, unsigned slot, const struct pack_part *part,
                         struct bytes list);
void send_queue_object(struct send_queue *b, enum pack_object kind, const struct digest *name,
                       struct bytes bytes);
/* A file was packed: it counts when what is before it here was handed on. */
void send_queue_file(struct send_queue *b, uint64_t bytes);

/* Who takes it. */
struct send_queue_sink {
    struct pack_sink to; /* without known */
    void (*files)(void *context, uint64_t n, uint64_t bytes);
};

/* Hands on all of it, also what is added meanwhile, until it is empty. */
int send_queue_deliver(struct send_queue *b, const struct send_queue_sink *sink, struct err *e);

/* ---- before it is known what is on the share ---- */

/* A piece that is in it, and might be there already. */
void send_queue_note_piece(struct send_queue *b, const struct digest *piece);
/* The pieces that were noted, until they are forgotten. */
const struct digest *send_queue_pieces(const struct send_queue *b, size_t *n);
void send_queue_forget_pieces(struct send_queue *b);
/* The lists of the parts that have come to their end. */
int send_queue_each_list(const struct send_queue *b,
                         int (*visit)(void *context, const struct pack_part *part,
                                      struct bytes list, struct err *e),
                         void *context, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * backlog.h - what was packed and is not sent yet: a queue
 *
 * Takes what a pack_sink is given, in order, and hands it on in that order.  It waits in memory; when
 * that is full, some more waits on the disk (see spill.h), which is for the time until a line is up to
 * its speed: what is packed then need not be packed later, when the line would wait for it.
 */
#ifndef LUDWIG_CLIENT_PACK_BACKLOG_H
#define LUDWIG_CLIENT_PACK_BACKLOG_H

#include "common/pack/pack_write.h"

enum {
    /* In memory, and less the more files there are, which take memory elsewhere; what is being
     * compressed comes on top. */
    BACKLOG_MAX_BYTES = 24 * 1024 * 1024,
    /* On the disk, ever; should it take less than that, the file that is packed then goes to memory. */
    BACKLOG_SPILL_BYTES = 128 * 1024 * 1024
};

struct backlog;

struct backlog *backlog_create(void);
void backlog_destroy(struct backlog *b); /* NULL is fine */

/* How many bytes the next file may add; 0: it is full.  What is larger is better sent as it is
 * read: here it counts when all of it was handed on. */
uint64_t backlog_room(const struct backlog *b);

void backlog_part_begin(struct backlog *b, unsigned slot);
void backlog_part_write(struct backlog *b, unsigned slot, struct bytes bytes);
void backlog_part_end(struct backlog *b, unsigned slot, const struct pack_part *part,
                      struct bytes list);
void backlog_object(struct backlog *b, enum pack_object kind, const struct digest *name,
                    struct bytes bytes);
/* A file was packed: it counts when what is before it here was handed on. */
void backlog_file(struct backlog *b, uint64_t bytes);

/* Who takes it. */
struct backlog_sink {
    struct pack_sink to; /* without known */
    void (*files)(void *context, uint64_t n, uint64_t bytes);
};

/* Hands on all of it, also what is added meanwhile, until it is empty. */
int backlog_deliver(struct backlog *b, const struct backlog_sink *sink, struct err *e);

/* ---- before it is known what is on the share ---- */

/* A piece that is in it, and might be there already. */
void backlog_note_piece(struct backlog *b, const struct digest *piece);
/* The pieces that were noted, until they are forgotten. */
const struct digest *backlog_pieces(const struct backlog *b, size_t *n);
void backlog_forget_pieces(struct backlog *b);
/* The lists of the parts that have come to their end. */
int backlog_each_list(const struct backlog *b,
                      int (*visit)(void *context, const struct pack_part *part, struct bytes list,
                                   struct err *e),
                      void *context, struct err *e);

#endif

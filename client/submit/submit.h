/* SPDX-License-Identifier: MIT */
/*
 * submit.h - a sweep on its way to the server
 *
 *   begin ──▶ chunk 0, 1, 2, ... ──▶ end
 *
 * At most SUBMIT_IN_FLIGHT chunks are unanswered.  The server shows the sweep to
 * nobody before its end, and answers that when it is on disk.  A submit lives as
 * long as its connection: when that breaks, it begins anew under another number,
 * unless the end was recorded already.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_SUBMIT_H
#define LUDWIG_CLIENT_SUBMIT_SUBMIT_H

#include "client/expand/points.h"
#include "client/session/rpc.h"

enum { SUBMIT_IN_FLIGHT = 4, SUBMIT_CHUNK_BYTES = 256 * 1024, SUBMIT_TRIES = 5 };

struct submission {
    struct rpc *rpc;
    const struct msg_submit_begin *begin;
    const struct points *points;
    int64_t configs; /* how many of the points go along, the first ones */
    /* Called while the server makes the sweep, when that has its number, and before its end is sent.
     * begun and ending may be NULL.  Where opened or ending fails, all is done again if it sets *lost,
     * which is false before. */
    void (*begun)(void *context);
    int (*opened)(void *context, int64_t sweep, bool *lost, struct err *e);
    int (*ending)(void *context, bool *lost, struct err *e);
    void *context;
};

/* The texts of done last until the next call on the rpc. */
int submit_send(const struct submission *s, struct msg_submitted *done, struct err *e);

/* How many configurations a chunk has at most. */
int64_t submit_chunk_max(int64_t reps);
/* Fills chunk with the next configurations as a msgpack array, at most max; returns how many.
 * left_over keeps one that did not fit for the next call. */
int64_t submit_fill_chunk(const struct points *p, int64_t max, struct buf *left_over,
                          struct buf *chunk);

#endif

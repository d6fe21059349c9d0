/* SPDX-License-Identifier: MIT */
/*
 * sweep_send.h - a sweep's description and its configurations on their way to ludwigd
 *
 *   begin ──▶ chunk 0, 1, 2, ... ──▶ end
 *
 * At most SWEEP_SEND_IN_FLIGHT chunks are unanswered.  ludwigd does not show the sweep before its end,
 * and answers that when it is on disk.  A sweep that is open lasts as long as its connection: when that
 * breaks, each step fails with ERR_UNREACHABLE, and the sweep must begin anew under another number,
 * unless its end was recorded already.
 *
 * Each step takes what the one before gave, which lives in the arena; NULL with e set: it failed.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_SWEEP_SEND_H
#define LUDWIG_CLIENT_SUBMIT_SWEEP_SEND_H

#include "client/expand/points.h"
#include "client/pack/inputs.h"
#include "client/session/rpc.h"

enum { SWEEP_SEND_IN_FLIGHT = 4, SWEEP_SEND_CHUNK_BYTES = 256 * 1024 };

struct sweep_asked;
struct sweep_open;
struct sweep_sent;

/* Asks for a sweep, and waits for nothing. */
struct sweep_asked *sweep_send_begin(struct rpc *r, const struct msg_submit_begin *begin,
                                     struct arena *a, struct err *e);
/* Until ludwigd has made it. */
struct sweep_open *sweep_send_opened(const struct sweep_asked *asked, struct err *e);
int64_t sweep_send_number(const struct sweep_open *open);
/* Where the project was submitted from the last time, if that is another folder; else NULL. */
const char *sweep_send_before(const struct sweep_open *open);
/* Sends the first configs of the points. */
struct sweep_sent *sweep_send_points(const struct sweep_open *open, const struct points *points,
                                     int64_t configs, struct err *e);
/* Ends it; what the jobs need has settled.  The texts of done last until the next call on the rpc. */
int sweep_send_end(struct sweep_sent *sent, const struct inputs_settled *settled,
                   struct msg_submitted *done, struct err *e);

/* How many configurations a chunk has at most. */
int64_t sweep_send_chunk_max(int64_t reps);
/* Fills chunk with the next configurations as a msgpack array, at most max; returns how many.
 * left_over keeps one that did not fit for the next call. */
int64_t sweep_send_fill_chunk(const struct points *p, int64_t max, struct buf *left_over,
                              struct buf *chunk);

#endif

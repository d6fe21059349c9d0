/* SPDX-License-Identifier: MIT */
/*
 * sweep_send.h - sends a sweep's description and configurations to ludwigd
 *
 *   begin ──▶ chunk 0, 1, 2, ... ──▶ end
 *
 * At most SWEEP_SEND_IN_FLIGHT chunks are unanswered.  ludwigd does not show the sweep before its
 * end, and answers the end when the sweep is on disk.  An open sweep lasts as long as its
 * connection: when that breaks, each step fails with ERR_UNREACHABLE, and the sweep must begin anew
 * under another number, unless its end was recorded already.
 *
 * Each step takes the result of the one before, which lives in the arena, and returns NULL with e
 * set when it failed.
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
struct sweep_taken;

/* Asks ludwigd for a sweep, without waiting for the answer. */
struct sweep_asked *sweep_send_begin(struct rpc *r, const struct msg_submit_begin *begin,
                                     struct arena *a, struct err *e);
/* Waits until ludwigd has made the sweep. */
struct sweep_open *sweep_send_opened(const struct sweep_asked *asked, struct err *e);
int64_t sweep_send_number(const struct sweep_open *open);
/* Sends the first configs of the points.  with_canaries: a few of them are marked to run first
 * (canary.h); first, unless NULL: those that match it are, instead. */
struct sweep_sent *sweep_send_points(const struct sweep_open *open, const struct points *points,
                                     int64_t configs, bool with_canaries, struct where *first,
                                     struct err *e);
/* Waits until ludwigd has all chunks.  Fills reused with struct reused_job: jobs that are done. */
struct sweep_taken *sweep_send_taken(struct sweep_sent *sent, struct list *reused, struct err *e);
/* Ends the sweep, whose inputs must have settled.  gone: struct gone_job, the reused jobs whose
 * results are not there.  The texts of done last until the next call on the rpc. */
int sweep_send_end(struct sweep_taken *taken, const struct inputs_settled *settled,
                   const struct list *gone, struct msg_submitted *done, struct err *e);

/* Returns how many configurations a chunk may have, given the sweep's replications. */
int64_t sweep_send_chunk_max(int64_t reps);
/* Fills chunk with the next configurations as a msgpack array, at most max; returns how many.
 * left_over keeps one that did not fit for the next call. */
int64_t sweep_send_fill_chunk(const struct points *p, int64_t max, struct buf *left_over,
                              struct buf *chunk);

#endif

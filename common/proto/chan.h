/* SPDX-License-Identifier: MIT */
/*
 * chan.h - a message channel on a libuv loop
 *
 * A channel tells its owner when bytes have come, and the owner pulls messages with chan_next, so
 * that it decides how many it takes in a turn.  A channel stops reading while more than
 * CHAN_INPUT_BYTES wait to be pulled.  Sent messages are queued; the connection is ended with
 * ERR_BUSY when more than max_queued_bytes wait for a peer that does not read.
 */
#ifndef LUDWIG_COMMON_PROTO_CHAN_H
#define LUDWIG_COMMON_PROTO_CHAN_H

#include <uv.h>

#include "common/proto/message.h"

enum { CHAN_INPUT_BYTES = 256 * 1024 };

struct chan;

struct chan_events {
    /* Bytes came, and at least one whole message, or an error, waits: call chan_next. */
    void (*readable)(void *context, struct chan *c);
    /* All queued bytes have been written.  May be NULL. */
    void (*drained)(void *context, struct chan *c);
    /* The connection is over; why->kind ERR_NONE: it was closed in good order.  Sending fails from
     * now on.  Call chan_destroy, here or later. */
    void (*closed)(void *context, struct chan *c, const struct err *why);
    /* Bytes came, but no whole message yet.  May be NULL. */
    void (*growing)(void *context, struct chan *c);
};

/* Makes a channel on the connected descriptor fd, which it owns, also when it fails.  *events is
 * copied.  NULL with *e set. */
struct chan *chan_create(uv_loop_t *loop, int fd, const struct protocol *p,
                         const struct chan_events *events, void *context, size_t max_queued_bytes,
                         struct err *e);
/* Closes the connection at once and frees the channel later, from the loop.  No event is called any
 * more.  NULL is fine. */
void chan_destroy(struct chan *c);
/* Closes the connection once all queued bytes have been written; then "closed" is called. */
void chan_finish(struct chan *c);

/* Returns 1 with a message, 0 when there is no whole message, -1 with *e set when the peer broke
 * the protocol: then destroy the channel.  The envelope's values are in the arena. */
int chan_next(struct chan *c, struct arena *a, struct envelope *m, struct err *e);
/* Whether chan_next would return 1 or -1. */
bool chan_has_next(struct chan *c);

/* Queues a message and returns its seq.  re: seq of the request that it answers, or 0; id: the
 * request id, or NULL.  -1 with *e set: it does not fit into a frame, or the channel is closed. */
int64_t chan_send(struct chan *c, int type, int64_t re, const struct token *id, const void *body,
                  struct err *e);
/* As chan_send, with a body that schema_encode has made. */
int64_t chan_send_encoded(struct chan *c, int type, int64_t re, struct bytes body, struct err *e);
/* Bytes of sent messages that were not written yet. */
size_t chan_queued_bytes(const struct chan *c);
/* Bytes that came and were not pulled yet. */
size_t chan_input_bytes(const struct chan *c);
/* Drops all bytes that were not pulled, and all that come later, so that a peer that is still
 * writing gets to the point where it reads. */
void chan_drop_input(struct chan *c);
/* Sets the size of the largest frame that the peer may send; at first it is FRAME_MAX_BYTES. */
void chan_limit_frames(struct chan *c, size_t max_bytes);

#endif

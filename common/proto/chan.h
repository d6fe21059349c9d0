/* SPDX-License-Identifier: MIT */
/*
 * chan.h - a message channel on a libuv loop
 *
 * The owner pulls messages when told there are some, so it decides how much to
 * take in a turn; a channel stops reading while CHAN_INPUT_BYTES lie unpulled.
 * Sent messages are queued; a peer that does not read is cut off once more than
 * max_queued_bytes wait for it.
 */
#ifndef LUDWIG_COMMON_PROTO_CHAN_H
#define LUDWIG_COMMON_PROTO_CHAN_H

#include <uv.h>

#include "common/proto/message.h"

enum { CHAN_INPUT_BYTES = 256 * 1024 };

struct chan;

struct chan_events {
    /* Bytes came; pull with chan_next. */
    void (*readable)(void *context, struct chan *c);
    /* All queued bytes have been written.  May be NULL. */
    void (*drained)(void *context, struct chan *c);
    /* The peer is gone or broke the rules (why->kind ERR_NONE: closed in good order).  The
     * channel may not be used for sending any more; call chan_destroy, here or later. */
    void (*closed)(void *context, struct chan *c, const struct err *why);
    /* Bytes came, and there is no whole message yet.  May be NULL. */
    void (*growing)(void *context, struct chan *c);
};

/* Owns fd, also when it fails. */
struct chan *chan_create(uv_loop_t *loop, int fd, const struct protocol *p,
                         const struct chan_events *events, void *context, size_t max_queued_bytes,
                         struct err *e);
/* Closes at once; no event is called any more.  NULL is fine. */
void chan_destroy(struct chan *c);
/* Closes once all queued bytes have been written; then "closed" is called. */
void chan_finish(struct chan *c);

/* Returns 1 with a message, 0 when there is no whole one, -1 with e set: the peer broke the
 * rules and must be cut off.  The envelope's values live in a until the caller resets it. */
int chan_next(struct chan *c, struct arena *a, struct envelope *m, struct err *e);
bool chan_has_next(struct chan *c);

/* Queues a message and returns its seq; -1 when it does not fit into a frame (e set) or
 * the channel is closed. */
int64_t chan_send(struct chan *c, int type, int64_t re, const struct token *id, const void *body,
                  struct err *e);
/* The same with a body that schema_encode made before. */
int64_t chan_send_encoded(struct chan *c, int type, int64_t re, struct bytes body, struct err *e);
size_t chan_queued_bytes(const struct chan *c);
/* What came and was not pulled. */
size_t chan_input_bytes(const struct chan *c);
/* Drops what was not pulled, and all that still comes: a peer that is writing can go on to read. */
void chan_drop_input(struct chan *c);
/* The largest frame taken from the peer from now on; at first FRAME_MAX_BYTES. */
void chan_limit_frames(struct chan *c, size_t max_bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * frame.h - whole messages over a byte stream
 *
 * A frame is a 4-byte big-endian length and that many bytes of msgpack.  Peers
 * may send a frame in pieces or several at once; frame_next hands back whole
 * ones only.  A length over FRAME_MAX_BYTES is refused before anything is
 * allocated, and memory grows with what has arrived, not with what was promised.
 */
#ifndef LUDWIG_COMMON_PROTO_FRAME_H
#define LUDWIG_COMMON_PROTO_FRAME_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum { FRAME_MAX_BYTES = 16 * 1024 * 1024, FRAME_HEAD_BYTES = 4 };

struct frame_reader {
    struct buf in;
    size_t used;      /* bytes at the front of in that were handed out already */
    size_t max_bytes; /* 0: FRAME_MAX_BYTES */
};

void frame_reader_free(struct frame_reader *r);
void frame_feed(struct frame_reader *r, const void *bytes, size_t n);

/* Returns 1 with a frame, 0 when more bytes are needed, -1 with e set (ERR_PROTOCOL).
 * The frame's bytes last until the next call on r. */
int frame_next(struct frame_reader *r, struct bytes *frame, struct err *e);

/* frame_next would not answer 0. */
bool frame_is_ready(const struct frame_reader *r);

/* Starts a frame in out; frame_end fills in its length.  Returns a mark for frame_end. */
size_t frame_begin(struct buf *out);
/* -1 and ERR_PROTOCOL when it got longer than FRAME_MAX_BYTES; out is then as before frame_begin. */
int frame_end(struct buf *out, size_t mark, struct err *e);

#endif

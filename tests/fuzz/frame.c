/* SPDX-License-Identifier: MIT */
/* frame.c - fuzz: a stream that arrives in pieces yields its frames, and no other byte */
#include <stdlib.h>
#include <string.h>

#include "common/proto/message.h"

/* What was fed so far, and how much of it was handed out. */
struct stream {
    struct buf fed;
    size_t at;
};

static void need(int ok)
{
    if (!ok)
        abort();
}

/* A frame must be the next bytes of the stream, behind the head that announces them. */
static void check_frame(struct stream *s, struct bytes frame)
{
    const uint8_t *head = s->fed.bytes + s->at;

    need(s->fed.n - s->at >= FRAME_HEAD_BYTES);
    need(frame.n ==
         ((size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]));
    need(frame.n <= s->fed.n - s->at - FRAME_HEAD_BYTES);
    need(memcmp(frame.data, head + FRAME_HEAD_BYTES, frame.n) == 0);
    s->at += FRAME_HEAD_BYTES + frame.n;
}

/* Takes what is whole; false when the reader refused the stream. */
static int take_frames(struct frame_reader *r, struct stream *s)
{
    struct bytes frame;
    struct err e = { 0 };
    int more;

    while ((more = frame_next(r, &frame, &e)) == 1) {
        need(frame.n <= r->max_bytes);
        check_frame(s, frame);
    }
    if (more == 0)
        return 1;
    need(e.kind == ERR_PROTOCOL && e.text[0] != '\0');
    need(frame_next(r, &frame, NULL) == -1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte limits the frames; then comes the size of a piece, the piece, and so on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_reader r = { 0 };
    struct stream s = { 0 };
    int going = size > 0;

    if (going) {
        r.max_bytes = 1 + 16 * (size_t)*data;
        data++, size--;
    }
    while (going && size > 0) {
        size_t n = *data % 64;

        data++, size--;
        if (n > size)
            n = size;
        frame_feed(&r, data, n);
        buf_add(&s.fed, data, n);
        data += n, size -= n;
        going = take_frames(&r, &s);
    }
    need(r.in.capacity <= 64 + 4 * s.fed.n);
    frame_reader_free(&r);
    buf_free(&s.fed);
    return 0;
}

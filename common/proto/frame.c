/* SPDX-License-Identifier: MIT */
/* frame.c - whole messages over a byte stream */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/proto/frame.h"

/* A reader with nothing to do gives back more memory than this. */
enum { IDLE_BYTES_MAX = 64 * 1024 };

static uint32_t head_read(const uint8_t head[FRAME_HEAD_BYTES])
{
    return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

static void head_write(uint8_t head[FRAME_HEAD_BYTES], size_t n)
{
    for (int i = 0; i < FRAME_HEAD_BYTES; i++)
        head[i] = (uint8_t)(n >> (24 - 8 * i));
}

void frame_reader_free(struct frame_reader *r)
{
    buf_free(&r->in);
    r->used = 0;
}

/* Never moves more bytes than were handed out since it last moved any. */
static void forget_used(struct frame_reader *r)
{
    size_t left = r->in.n - r->used;

    if (left > r->used)
        return;
    if (left == 0 && r->in.capacity > IDLE_BYTES_MAX)
        buf_free(&r->in);
    else
        buf_drop_front(&r->in, r->used);
    r->used = 0;
}

void frame_feed(struct frame_reader *r, const void *bytes, size_t n)
{
    forget_used(r);
    buf_add(&r->in, bytes, n);
}

int frame_next(struct frame_reader *r, struct bytes *frame, struct err *e)
{
    size_t max = r->max_bytes > 0 ? r->max_bytes : FRAME_MAX_BYTES;
    size_t left = r->in.n - r->used;
    size_t n;

    if (left == 0)
        forget_used(r);
    if (left < FRAME_HEAD_BYTES)
        return 0;
    n = head_read(r->in.bytes + r->used);
    if (n > max)
        return err_set(e, ERR_PROTOCOL, "a frame of %zu bytes, at most %zu are allowed", n, max);
    if (left - FRAME_HEAD_BYTES < n)
        return 0;
    *frame = (struct bytes){ r->in.bytes + r->used + FRAME_HEAD_BYTES, n };
    r->used += FRAME_HEAD_BYTES + n;
    return 1;
}

bool frame_is_ready(const struct frame_reader *r)
{
    size_t max = r->max_bytes > 0 ? r->max_bytes : FRAME_MAX_BYTES;
    size_t left = r->in.n - r->used;
    size_t n;

    if (left < FRAME_HEAD_BYTES)
        return false;
    n = head_read(r->in.bytes + r->used);
    return n > max || left - FRAME_HEAD_BYTES >= n;
}

size_t frame_begin(struct buf *out)
{
    size_t mark = out->n;

    memset(buf_reserve(out, FRAME_HEAD_BYTES), 0, FRAME_HEAD_BYTES);
    buf_added(out, FRAME_HEAD_BYTES);
    return mark;
}

int frame_end(struct buf *out, size_t mark, struct err *e)
{
    size_t n = out->n - mark - FRAME_HEAD_BYTES;

    assert(out->n >= mark + FRAME_HEAD_BYTES);
    if (n > FRAME_MAX_BYTES) {
        out->n = mark;
        out->bytes[mark] = '\0';
        return err_set(e, ERR_PROTOCOL, "a message of %zu bytes, at most %d fit into a frame", n,
                       FRAME_MAX_BYTES);
    }
    head_write(out->bytes + mark, n);
    return 0;
}

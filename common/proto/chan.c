/* SPDX-License-Identifier: MIT */
/* chan.c - a message channel on a libuv loop */

#include "common/proto/chan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

struct chan {
    uv_pipe_t pipe;
    uv_timer_t soon; /* calls "closed" from the loop, never within a call of the owner */
    uv_write_t write;
    const struct protocol *protocol;
    struct chan_events events;
    void *context;
    struct frame_reader reader;
    struct buf waiting; /* queued bytes that libuv does not have yet */
    struct buf writing; /* queued bytes that libuv is writing */
    size_t max_queued_bytes;
    int64_t seq;   /* of the last message sent */
    int n_handles; /* handles that libuv has not closed yet */
    bool is_reading;
    bool drops_input;
    bool is_writing;
    bool is_finishing;
    bool is_over; /* the connection has ended; "closed" is called soon or was called */
    bool is_destroyed;
    struct err why;
    uint8_t input[READ_BYTES];
};

static void tell_end(uv_timer_t *timer)
{
    struct chan *c = timer->data;

    c->events.closed(c->context, c, &c->why);
}

/* Ends the connection: "closed" is called from the loop. */
static void end(struct chan *c, enum err_kind kind, const char *text)
{
    if (c->is_over)
        return;
    c->is_over = true;
    if (kind != ERR_NONE)
        err_set(&c->why, kind, "%s", text);
    uv_read_stop((uv_stream_t *)&c->pipe);
    uv_timer_start(&c->soon, tell_end, 0, 0);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *b)
{
    struct chan *c = handle->data;

    (void)suggested;
    *b = uv_buf_init((char *)c->input, sizeof c->input);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct chan *c = stream->data;

    if (n == UV_EOF) {
        end(c, ERR_NONE, NULL);
    } else if (n < 0) {
        end(c, ERR_UNREACHABLE, uv_strerror((int)n));
    } else if (n > 0 && !c->drops_input) {
        frame_feed(&c->reader, b->base, (size_t)n);
        if (!frame_is_ready(&c->reader)) {
            if (c->events.growing != NULL)
                c->events.growing(c->context, c);
            return;
        }
        if (chan_input_bytes(c) > CHAN_INPUT_BYTES) {
            /* Reading goes on when the owner has pulled messages. */
            uv_read_stop((uv_stream_t *)&c->pipe);
            c->is_reading = false;
        }
        c->events.readable(c->context, c);
    }
}

static void flush_waiting(struct chan *c);

static void on_written(uv_write_t *write, int status)
{
    struct chan *c = write->data;

    c->is_writing = false;
    buf_clear(&c->writing);
    if (c->is_destroyed || c->is_over)
        return;
    if (status < 0) {
        end(c, ERR_UNREACHABLE, uv_strerror(status));
        return;
    }
    flush_waiting(c);
    if (c->is_writing || c->is_over)
        return;
    if (c->is_finishing)
        end(c, ERR_NONE, NULL);
    else if (c->events.drained != NULL)
        c->events.drained(c->context, c);
}

/* Writes as much as the socket takes at once; libuv keeps the rest. */
static void flush_waiting(struct chan *c)
{
    struct buf empty = c->writing;
    uv_buf_t b;
    int n;

    if (c->is_writing || c->waiting.n == 0)
        return;
    b = uv_buf_init((char *)c->waiting.bytes, (unsigned)c->waiting.n);
    n = uv_try_write((uv_stream_t *)&c->pipe, &b, 1);
    if (n < 0 && n != UV_EAGAIN) {
        end(c, ERR_UNREACHABLE, uv_strerror(n));
        return;
    }
    if (n > 0)
        buf_drop_front(&c->waiting, (size_t)n);
    if (c->waiting.n == 0)
        return;
    c->writing = c->waiting;
    c->waiting = empty;
    b = uv_buf_init((char *)c->writing.bytes, (unsigned)c->writing.n);
    c->write.data = c;
    n = uv_write(&c->write, (uv_stream_t *)&c->pipe, &b, 1, on_written);
    if (n < 0)
        end(c, ERR_UNREACHABLE, uv_strerror(n));
    else
        c->is_writing = true;
}

static void on_closed(uv_handle_t *handle)
{
    struct chan *c = handle->data;

    if (--c->n_handles > 0)
        return;
    frame_reader_free(&c->reader);
    buf_free(&c->waiting);
    buf_free(&c->writing);
    free(c);
}

struct chan *chan_create(uv_loop_t *loop, int fd, const struct protocol *p,
                         const struct chan_events *events, void *context, size_t max_queued_bytes,
                         struct err *e)
{
    struct chan *c = mem_alloc(sizeof *c);
    int rc;

    c->protocol = p;
    c->events = *events;
    c->context = context;
    c->max_queued_bytes = max_queued_bytes;
    c->n_handles = 2;
    c->is_reading = true;
    uv_timer_init(loop, &c->soon);
    uv_pipe_init(loop, &c->pipe, 0);
    c->soon.data = c->pipe.data = c;
    rc = uv_pipe_open(&c->pipe, fd);
    if (rc < 0)
        close(fd);
    else
        rc = uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);
    if (rc < 0) {
        err_set(e, ERR_FAILED, "connection: %s", uv_strerror(rc));
        chan_destroy(c);
        return NULL;
    }
    return c;
}

void chan_destroy(struct chan *c)
{
    if (c == NULL || c->is_destroyed)
        return;
    c->is_destroyed = true;
    uv_close((uv_handle_t *)&c->soon, on_closed);
    uv_close((uv_handle_t *)&c->pipe, on_closed);
}

void chan_finish(struct chan *c)
{
    c->is_finishing = true;
    if (!c->is_writing && c->waiting.n == 0)
        end(c, ERR_NONE, NULL);
}

/* Reads from the peer again, unless too many bytes wait to be pulled. */
static void read_on(struct chan *c)
{
    if (c->is_reading || c->is_over || c->is_destroyed || chan_input_bytes(c) > CHAN_INPUT_BYTES)
        return;
    c->is_reading = true;
    uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);
}

int chan_next(struct chan *c, struct arena *a, struct envelope *m, struct err *e)
{
    struct bytes frame;
    int rc = frame_next(&c->reader, &frame, e);

    if (rc == 1 && message_read(frame, c->protocol, a, m, e) < 0)
        rc = -1;
    read_on(c);
    return rc;
}

bool chan_has_next(struct chan *c)
{
    return frame_is_ready(&c->reader);
}

static int check_open(const struct chan *c, struct err *e)
{
    if (c->is_over || c->is_destroyed || c->is_finishing)
        return err_set(e, ERR_UNREACHABLE, "the connection is closed");
    return 0;
}

/* Sends the message that was just queued, and returns its seq. */
static int64_t sent(struct chan *c)
{
    flush_waiting(c);
    if (chan_queued_bytes(c) > c->max_queued_bytes)
        end(c, ERR_BUSY, "the peer does not read what is sent to it");
    return ++c->seq;
}

int64_t chan_send(struct chan *c, int type, int64_t re, const struct token *id, const void *body,
                  struct err *e)
{
    if (check_open(c, e) < 0 ||
        message_add(&c->waiting, c->protocol, type, c->seq + 1, re, id, body, e) < 0)
        return -1;
    return sent(c);
}

int64_t chan_send_encoded(struct chan *c, int type, int64_t re, struct bytes body, struct err *e)
{
    if (check_open(c, e) < 0 ||
        message_add_encoded(&c->waiting, c->protocol, type, c->seq + 1, re, body, e) < 0)
        return -1;
    return sent(c);
}

size_t chan_queued_bytes(const struct chan *c)
{
    return c->waiting.n + c->writing.n;
}

size_t chan_input_bytes(const struct chan *c)
{
    return c->reader.in.n - c->reader.used;
}

void chan_drop_input(struct chan *c)
{
    c->drops_input = true;
    frame_reader_free(&c->reader);
    read_on(c);
}

void chan_limit_frames(struct chan *c, size_t max_bytes)
{
    c->reader.max_bytes = max_bytes;
}

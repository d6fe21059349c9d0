/* SPDX-License-Identifier: MIT */
/* message.c - frames in a stream, envelopes around messages, a blocking end of a connection */

#include "common/proto/message.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/data/msgpack.h"

/* ---- frames ---- */

/* A reader without unread bytes frees its buffer if that is larger than this. */
enum { IDLE_BYTES_MAX = 64 * 1024 };

void frame_reader_free(struct frame_reader *r)
{
    buf_free(&r->in);
    r->used = 0;
}

/* Drops used bytes, once they are at least as many as the bytes that have to be moved. */
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

/* Returns 1 when the next frame has arrived, 0 when more bytes are needed, -1 when the frame is too
 * large.  *n: size of its content, except with 0. */
static int peek(const struct frame_reader *r, size_t *n)
{
    size_t left = r->in.n - r->used;

    if (left < FRAME_HEAD_BYTES)
        return 0;
    *n = 0;
    for (size_t i = 0; i < FRAME_HEAD_BYTES; i++)
        *n = *n << 8 | r->in.bytes[r->used + i];
    if (*n > (r->max_bytes > 0 ? r->max_bytes : FRAME_MAX_BYTES))
        return -1;
    return left - FRAME_HEAD_BYTES >= *n;
}

int frame_next(struct frame_reader *r, struct bytes *frame, struct err *e)
{
    size_t n;
    int rc = peek(r, &n);

    if (rc < 0)
        return err_set(e, ERR_PROTOCOL, "a frame of %zu bytes, at most %zu are allowed", n,
                       r->max_bytes > 0 ? r->max_bytes : (size_t)FRAME_MAX_BYTES);
    if (rc == 1) {
        *frame = (struct bytes){ r->in.bytes + r->used + FRAME_HEAD_BYTES, n };
        r->used += FRAME_HEAD_BYTES + n;
    } else if (r->in.n == r->used) {
        forget_used(r);
    }
    return rc;
}

bool frame_is_ready(const struct frame_reader *r)
{
    size_t n;

    return peek(r, &n) != 0;
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
    for (int i = 0; i < FRAME_HEAD_BYTES; i++)
        out->bytes[mark + (size_t)i] = (uint8_t)(n >> (24 - 8 * i));
    return 0;
}

/* ---- messages ---- */

static void add_key(struct buf *out, const char *key)
{
    mp_add_str(out, key, strlen(key));
}

static void add_head(struct buf *out, const struct message *m, int64_t seq, int64_t re,
                     const struct token *id)
{
    mp_add_map(out, 3 + (size_t)(re != 0) + (size_t)(id != NULL));
    add_key(out, "type");
    mp_add_str(out, m->name, strlen(m->name));
    add_key(out, "seq");
    mp_add_int(out, seq);
    if (re != 0) {
        add_key(out, "re");
        mp_add_int(out, re);
    }
    if (id != NULL) {
        add_key(out, "id");
        mp_add_bin(out, id->bytes, TOKEN_BYTES);
    }
    add_key(out, "body");
}

int message_add(struct buf *out, const struct protocol *p, int type, int64_t seq, int64_t re,
                const struct token *id, const void *body, struct err *e)
{
    const struct message *m = &p->messages[type];
    size_t mark = frame_begin(out);

    add_head(out, m, seq, re, id);
    schema_encode(m->schema, body, out);
    if (frame_end(out, mark, e) < 0)
        return err_wrap(e, "message %s", m->name);
    return 0;
}

int message_add_encoded(struct buf *out, const struct protocol *p, int type, int64_t seq,
                        int64_t re, struct bytes body, struct err *e)
{
    const struct message *m = &p->messages[type];
    size_t mark = frame_begin(out);

    add_head(out, m, seq, re, NULL);
    buf_add(out, body.data, body.n);
    if (frame_end(out, mark, e) < 0)
        return err_wrap(e, "message %s", m->name);
    return 0;
}

struct envelope_fields {
    const char *type;
    int64_t seq;
    int64_t re;
    struct token id;
    struct value body;
};

static const struct field envelope_rows[] = {
    FIELD(struct envelope_fields, type, FIELD_STR, FIELD_REQUIRED, 64),
    FIELD(struct envelope_fields, seq, FIELD_INT, FIELD_REQUIRED, INT64_C(1) << 53),
    FIELD(struct envelope_fields, re, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct envelope_fields, id, FIELD_TOKEN, 0, 0),
    FIELD(struct envelope_fields, body, FIELD_VALUE, FIELD_REQUIRED, 0),
};
static const struct schema envelope_schema =
    SCHEMA(struct envelope_fields, "envelope", envelope_rows);

int message_read(struct bytes frame, const struct protocol *p, struct arena *a, struct envelope *m,
                 struct err *e)
{
    struct envelope_fields f;

    *m = (struct envelope){ .type = -1 };
    if (schema_read(&envelope_schema, frame, a, &f, e) < 0)
        return -1;
    m->seq = f.seq;
    m->re = f.re;
    m->id = f.id;
    m->body = f.body;
    for (size_t i = 0; i < p->n && m->type < 0; i++)
        if (strcmp(p->messages[i].name, f.type) == 0)
            m->type = (int)i;
    if (m->type < 0)
        return err_set(e, ERR_PROTOCOL, "unknown message type '%s'", f.type);
    return 0;
}

int message_body(const struct protocol *p, const struct envelope *m, struct arena *a, void *to,
                 struct err *e)
{
    return schema_decode(p->messages[m->type].schema, &m->body, a, to, e);
}

const void *message_take_body(const struct protocol *p, const struct envelope *m, struct arena *a,
                              struct err *e)
{
    void *body = arena_alloc(a, p->messages[m->type].schema->size);

    return message_body(p, m, a, body, e) < 0 ? NULL : body;
}

void wire_init(struct wire *w, int fd, const struct protocol *p)
{
    *w = (struct wire){ .fd = fd, .protocol = p, .arena = arena_create() };
}

void wire_close(struct wire *w)
{
    if (w->fd >= 0)
        close(w->fd);
    frame_reader_free(&w->reader);
    buf_free(&w->out);
    arena_destroy(w->arena);
    *w = (struct wire){ .fd = -1 };
}

int64_t wire_send(struct wire *w, int type, int64_t re, const struct token *id, const void *body,
                  struct err *e)
{
    buf_clear(&w->out);
    if (message_add(&w->out, w->protocol, type, w->seq + 1, re, id, body, e) < 0)
        return -1;
    if (io_write_all(w->fd, w->out.bytes, w->out.n) < 0) {
        err_sys(e, "send %s", w->protocol->messages[type].name);
        if (e != NULL)
            e->kind = ERR_UNREACHABLE;
        return -1;
    }
    return ++w->seq;
}

/* Returns 1 with a message, 0 when memory holds no whole message, -1 with *e set. */
static int take_message(struct wire *w, struct envelope *m, struct err *e)
{
    struct bytes frame = { 0 };
    int rc = frame_next(&w->reader, &frame, e);

    if (rc <= 0)
        return rc;
    arena_reset(w->arena);
    return message_read(frame, w->protocol, w->arena, m, e) < 0 ? -1 : 1;
}

/* Calls read(2) once.  Returns 1 when bytes came, 0 at the end of the stream, -1 with *e set. */
static int read_some(struct wire *w, struct err *e)
{
    uint8_t bytes[64 * 1024];
    ssize_t n;

    do
        n = read(w->fd, bytes, sizeof bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        err_sys(e, "receive");
        if (e != NULL)
            e->kind = ERR_UNREACHABLE;
        return -1;
    }
    if (n == 0 && w->reader.in.n > w->reader.used)
        return err_set(e, ERR_UNREACHABLE, "the connection ended in the middle of a message");
    frame_feed(&w->reader, bytes, (size_t)n);
    return n > 0;
}

int wire_receive(struct wire *w, struct envelope *m, struct err *e)
{
    int rc;

    do
        rc = wire_poll(w, m, e);
    while (rc == 2);
    return rc;
}

int wire_poll(struct wire *w, struct envelope *m, struct err *e)
{
    int rc = take_message(w, m, e);

    if (rc != 0)
        return rc;
    rc = read_some(w, e);
    if (rc != 1)
        return rc;
    rc = take_message(w, m, e);
    return rc == 0 ? 2 : rc;
}

bool wire_is_ready(struct wire *w)
{
    return frame_is_ready(&w->reader);
}

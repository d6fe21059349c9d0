/* SPDX-License-Identifier: MIT */
/* message.c - envelopes around messages, and a blocking end of a connection */

#include "common/proto/message.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/data/msgpack.h"

static void add_key(struct buf *out, const char *key)
{
    mp_add_str(out, key, strlen(key));
}

static void add_number(struct buf *out, const char *key, int64_t number)
{
    add_key(out, key);
    mp_add_int(out, number);
}

static void add_head(struct buf *out, const struct message *m, int64_t seq, int64_t re,
                     const struct token *id)
{
    mp_add_map(out, 3 + (size_t)(re != 0) + (size_t)(id != NULL));
    add_key(out, "type");
    mp_add_str(out, m->name, strlen(m->name));
    add_number(out, "seq", seq);
    if (re != 0)
        add_number(out, "re", re);
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

static int type_of(const struct protocol *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->messages[i].name, name) == 0)
            return (int)i;
    return -1;
}

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
    m->type = type_of(p, f.type);
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

/* 1 and a message, 0 when no whole one lies in memory, -1. */
static int take_message(struct wire *w, struct envelope *m, struct err *e)
{
    struct bytes frame;
    int rc = frame_next(&w->reader, &frame, e);

    if (rc <= 0)
        return rc;
    arena_reset(w->arena);
    return message_read(frame, w->protocol, w->arena, m, e) < 0 ? -1 : 1;
}

/* One read(): 1 when bytes came, 0 at the end, -1 with e set. */
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
    for (;;) {
        int rc = take_message(w, m, e);

        if (rc == 0) {
            rc = read_some(w, e);
            if (rc == 1)
                continue;
        }
        return rc;
    }
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

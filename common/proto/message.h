/* SPDX-License-Identifier: MIT */
/*
 * message.h - a table of messages, and the envelope each travels in
 *
 * A frame holds a msgpack map: "type" (the message's name), "seq" (the sender's
 * number for it, from 1), "re" (in an answer: the seq it answers; in a push: that of
 * the subscription), "id" (16 random bytes, on every changing request) and
 * "body" (the message's fields).
 */
#ifndef LUDWIG_COMMON_PROTO_MESSAGE_H
#define LUDWIG_COMMON_PROTO_MESSAGE_H

#include "common/data/schema.h"
#include "common/proto/frame.h"

struct message {
    const char *name;
    const struct schema *schema;
    unsigned flags; /* the protocol's own: who may send it, is it changing */
    int reply;      /* type of the answer, -1 for none */
};

/* A protocol: messages[type]. */
struct protocol {
    const struct message *messages;
    size_t n;
};

struct envelope {
    int type;
    int64_t seq;
    int64_t re;
    struct token id; /* zero: none */
    struct value body;
};

/* Appends a whole frame. re 0, id NULL: none. */
int message_add(struct buf *out, const struct protocol *p, int type, int64_t seq, int64_t re,
                const struct token *id, const void *body, struct err *e);
/* The same with a body that schema_encode made before. */
int message_add_encoded(struct buf *out, const struct protocol *p, int type, int64_t seq,
                        int64_t re, struct bytes body, struct err *e);

/* Opens a frame: the envelope is checked, the body is still a value.  ERR_PROTOCOL for an
 * unknown type; seq and re are set as far as they could be read. */
int message_read(struct bytes frame, const struct protocol *p, struct arena *a, struct envelope *m,
                 struct err *e);

/* Checks the body against the message's table and fills *to. */
int message_body(const struct protocol *p, const struct envelope *m, struct arena *a, void *to,
                 struct err *e);

/* The same into memory of the arena; NULL with e set. */
const void *message_take_body(const struct protocol *p, const struct envelope *m, struct arena *a,
                              struct err *e);

/*
 * A blocking end of a connection.
 */
struct wire {
    int fd;
    const struct protocol *protocol;
    struct frame_reader reader;
    struct buf out;
    struct arena *arena; /* what the last wire_receive handed out */
    int64_t seq;
};

void wire_init(struct wire *w, int fd, const struct protocol *p); /* owns fd from here on */
void wire_close(struct wire *w);
/* Sends one message; returns its seq, -1 with e set (ERR_UNREACHABLE when the peer is gone). */
int64_t wire_send(struct wire *w, int type, int64_t re, const struct token *id, const void *body,
                  struct err *e);
/* Waits for one message: 1, or 0 when the peer closed between messages, -1 with e set. */
int wire_receive(struct wire *w, struct envelope *m, struct err *e);
/* The same without waiting for more than one read(): also 2 when no whole message is there yet.
 * For callers that poll(2) on fd; call it until it says 2. */
int wire_poll(struct wire *w, struct envelope *m, struct err *e);
/* A whole message lies in memory already, so poll(2) would wait in vain. */
bool wire_is_ready(struct wire *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * message.h - a table of messages, and the envelope and frame that carry each message
 *
 * A frame is a 4-byte big-endian length and that many bytes of msgpack.  Bytes of a frame may
 * arrive in pieces, and several frames at once; frame_next gives whole frames only.  A length over
 * FRAME_MAX_BYTES is refused before anything is allocated, and memory grows with the bytes that
 * have arrived, not with the announced length.
 *
 * A frame holds an envelope, a msgpack map: "type" (the message's name), "seq" (the sender's number
 * for the message, from 1), "re" (in an answer the seq of the request, in a push the seq of the
 * subscription), "id" (16 random bytes, on every changing request) and "body" (the message's
 * fields).
 */
#ifndef LUDWIG_COMMON_PROTO_MESSAGE_H
#define LUDWIG_COMMON_PROTO_MESSAGE_H

#include "common/data/schema.h"

enum { FRAME_MAX_BYTES = 16 * 1024 * 1024, FRAME_HEAD_BYTES = 4 };

struct frame_reader {
    struct buf in;
    size_t used;      /* bytes at the front of `in` that frame_next has given already */
    size_t max_bytes; /* 0: FRAME_MAX_BYTES */
};

void frame_reader_free(struct frame_reader *r);
/* Adds bytes that arrived. */
void frame_feed(struct frame_reader *r, const void *bytes, size_t n);

/* Returns 1 with a frame's content, 0 when more bytes are needed, -1 with *e set (ERR_PROTOCOL).
 * The content lasts until the next call on r. */
int frame_next(struct frame_reader *r, struct bytes *frame, struct err *e);

/* Whether frame_next would give a whole frame or an error. */
bool frame_is_ready(const struct frame_reader *r);

/* Starts a frame in out.  Returns a mark for frame_end. */
size_t frame_begin(struct buf *out);
/* Ends the frame: fills in its length.  -1 with ERR_PROTOCOL when the frame is longer than
 * FRAME_MAX_BYTES; out is then as before frame_begin. */
int frame_end(struct buf *out, size_t mark, struct err *e);

struct message {
    const char *name;
    const struct schema *schema;
    unsigned flags; /* of the protocol: enum proto_flags */
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
    int64_t re;      /* 0: none */
    struct token id; /* zero: none */
    struct value body;
};

/* Appends a whole frame with a message to out; body: the message's struct.  re 0, id NULL: none.
 * -1 with *e set when the frame would be too long. */
int message_add(struct buf *out, const struct protocol *p, int type, int64_t seq, int64_t re,
                const struct token *id, const void *body, struct err *e);
/* As message_add, with a body that schema_encode has made. */
int message_add_encoded(struct buf *out, const struct protocol *p, int type, int64_t seq,
                        int64_t re, struct bytes body, struct err *e);

/* Reads a frame's envelope and checks it; the body stays a value, in the arena.  -1 with
 * ERR_PROTOCOL for an unknown type: seq and re are set then. */
int message_read(struct bytes frame, const struct protocol *p, struct arena *a, struct envelope *m,
                 struct err *e);

/* Checks the body against the message's table and fills *to, the message's struct, whose texts and
 * lists are in the arena. */
int message_body(const struct protocol *p, const struct envelope *m, struct arena *a, void *to,
                 struct err *e);

/* As message_body, but also makes the struct in the arena; NULL with *e set. */
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
    struct arena *arena; /* of the last received message */
    int64_t seq;
};

void wire_init(struct wire *w, int fd, const struct protocol *p); /* owns fd from here on */
void wire_close(struct wire *w);
/* Sends one message; returns its seq, -1 with *e set (ERR_UNREACHABLE when the peer is gone). */
int64_t wire_send(struct wire *w, int type, int64_t re, const struct token *id, const void *body,
                  struct err *e);
/* Waits for one message.  Returns 1 with the message, which lasts until the next one is received, 0
 * when the peer closed the connection between two messages, -1 with *e set. */
int wire_receive(struct wire *w, struct envelope *m, struct err *e);
/* As wire_receive, but calls read(2) at most once, and returns 2 when no whole message has arrived
 * yet.  For callers that poll(2) fd; call it until it returns 2. */
int wire_poll(struct wire *w, struct envelope *m, struct err *e);
/* Whether a whole message lies in memory already, so that poll(2) would wait in vain. */
bool wire_is_ready(struct wire *w);

#endif

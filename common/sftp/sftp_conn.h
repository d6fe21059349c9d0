/* SPDX-License-Identifier: MIT */
/*
 * sftp_conn.h - requests to an SFTP server and its replies: what the files of the client share
 *
 * A request is written between sftp_begin and sftp_end:
 *
 *     out = sftp_begin(s, FXP_LSTAT, &(struct sftp_wait){ FXP_ATTRS, on_reply, context });
 *     packet_add_str(out, path);
 *     sftp_end(s);
 *
 * on_reply is called exactly once for each, from within sftp_turn or sftp_close.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_CONN_H
#define LUDWIG_COMMON_SFTP_SFTP_CONN_H

#include <poll.h>

#include "common/sftp/sftp.h"
#include "common/sftp/sftp_packet.h"

enum {
    SFTP_PACKET_MAX_BYTES = 1024 * 1024,      /* larger ones of the server are refused */
    SFTP_OPS_MAX = 512,                       /* operations in flight */
    SFTP_CONTENT_MAX_BYTES = 8 * 1024 * 1024, /* content of operations in flight */
    SFTP_UNSENT_MAX_BYTES = 4 * 1024 * 1024
};

struct sftp_reply {
    int type;           /* FXP_STATUS, what was expected, or 0: the connection is broken */
    uint32_t status;    /* enum sftp_status */
    struct bytes text;  /* of a status: what the server says about it; a handle; data */
    struct packet body; /* what else there is, sound except in an FXP_EXTENDED_REPLY */
    uint64_t tag;
};

typedef void sftp_on_reply(void *context, const struct sftp_reply *r);

/* Who waits for a reply, and for which. */
struct sftp_wait {
    int type; /* FXP_STATUS: nothing but a status */
    sftp_on_reply *on_reply;
    void *context;
    uint64_t tag;          /* for the one who waits */
    size_t data_max_bytes; /* of FXP_DATA */
};

struct sftp_request {
    struct sftp_wait wait;
    uint32_t id;
    bool is_waiting;
    uint32_t next_free; /* of those that are not */
};

struct sftp {
    int fd;
    unsigned can; /* enum sftp_extension */
    size_t read_max_bytes, write_max_bytes;
    size_t handles_max; /* open at once */
    struct buf out;     /* not sent: from out_at on */
    size_t out_at;
    size_t request_at; /* in out: the one that is being written */
    struct buf in;     /* not handed out: from in_at on */
    size_t in_at;
    struct sftp_request *requests;
    size_t n_requests, requests_capacity; /* slots ever used */
    uint32_t first_free;                  /* UINT32_MAX: none */
    size_t n_waiting;                     /* requests without reply */
    size_t n_ops, n_handles;
    size_t content_bytes; /* of operations in flight */
    int depth;            /* of calls of on_reply */
    bool is_greeted, has_limits;
    bool is_broken;
    struct err why;
};

struct buf *sftp_begin(struct sftp *s, int type, const struct sftp_wait *wait);
void sftp_end(struct sftp *s);
/* The same of an extension. */
struct buf *sftp_begin_extended(struct sftp *s, const char *name, const struct sftp_wait *wait);

/* Sends what can be sent, waits for replies and hands them out; -1: the connection is broken. */
int sftp_turn(struct sftp *s, struct err *e);
/* timeout_ms -1: none; then what the first has to do meanwhile is done before. */
int sftp_turn_any(struct sftp *const *all, size_t n, int timeout_ms, struct err *e);
/* The same, and it waits for other descriptors, too, at most SFTP_OTHERS_MAX. */
enum { SFTP_OTHERS_MAX = 16 };
int sftp_turn_beside(struct sftp *const *all, size_t n, const struct pollfd *others,
                     size_t n_others, int timeout_ms, struct err *e);
/* Sends what can be sent at once once there is a lot. */
void sftp_push(struct sftp *s);
/* Ends the connection: whoever waits is told. */
void sftp_break(struct sftp *s, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The server's first packet, which answers no request. */
void sftp_take_greeting(struct sftp *s, struct packet p);
/* -1 with e set when the connection is broken. */
int sftp_check(const struct sftp *s, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sftp_conn.h - requests to an SFTP server and its replies, for the files of this room alone
 *
 * A request is written between sftp_begin and sftp_end:
 *
 *     out = sftp_begin(s, FXP_LSTAT, sftp_waiter(FXP_ATTRS, on_reply, context, "look at"));
 *     packet_add_str(out, path);
 *     sftp_end(s);
 *
 * on_reply is called exactly once for each request, from within sftp_wait or sftp_close.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_CONN_H
#define LUDWIG_COMMON_SFTP_SFTP_CONN_H

#include <poll.h>

#include "common/sftp/sftp.h"
#include "common/sftp/sftp_packet.h"

enum { SFTP_UNSENT_MAX_BYTES = 4 * 1024 * 1024 };

struct sftp_reply {
    int type;           /* FXP_STATUS, the waiter's type, or 0: the connection is broken */
    uint32_t status;    /* enum sftp_status */
    struct bytes text;  /* a status's message; a handle; data */
    struct packet body; /* the other fields, checked except in an FXP_EXTENDED_REPLY */
    const char *verb;   /* of the waiter (struct sftp_waiter), as is tag */
    uint64_t tag;
};

typedef void sftp_on_reply(void *context, const struct sftp_reply *r);

/* The callback for a reply, and the type of reply it expects. */
struct sftp_waiter {
    int type; /* of a reply of success; FXP_STATUS: only a status is expected */
    sftp_on_reply *on_reply;
    void *context;
    const char *verb;      /* what the request does, for error messages: "write" */
    uint64_t tag;          /* given to on_reply */
    size_t data_max_bytes; /* the most that an FXP_DATA may hold; sftp_ask_read sets it */
};

struct sftp_waiter sftp_waiter(int type, sftp_on_reply *on_reply, void *context, const char *verb);

struct sftp_request {
    struct sftp_waiter waiter;
    uint32_t id;
    bool is_waiting;
    uint32_t next_free; /* the next free slot, while this one is free */
};

struct sftp {
    int fd;
    unsigned can; /* enum sftp_extension */
    size_t read_max_bytes, write_max_bytes;
    size_t handles_max; /* handles open at once */
    struct buf out;     /* requests; those from out_at on are not sent yet */
    size_t out_at;
    size_t request_at; /* offset in out of the request being written */
    struct buf in;     /* replies; those from in_at on are not handed out yet */
    size_t in_at;
    struct sftp_request *requests;
    size_t n_requests, requests_capacity; /* slots ever used */
    uint32_t first_free;                  /* UINT32_MAX: none */
    size_t n_ops, n_handles;
    size_t content_bytes; /* of operations in flight */
    int depth;            /* how deep calls of on_reply are nested */
    bool sets_modes;      /* the server was seen to set the mode of a folder */
    bool keeps_modes;     /* the server refuses to set modes: a new file keeps its first one */
    bool is_greeted, is_broken;
    struct err why;
};

struct buf *sftp_begin(struct sftp *s, int type, struct sftp_waiter waiter);
void sftp_end(struct sftp *s);
/* The same for a request of an extension. */
struct buf *sftp_begin_extended(struct sftp *s, const char *name, struct sftp_waiter waiter);

/* The server's name for an open file. */
struct sftp_handle {
    uint8_t bytes[SFTP_HANDLE_MAX_BYTES];
    size_t n;
};

void sftp_take_handle(struct sftp_handle *h, const struct sftp_reply *r);
/* The functions from here on write a whole request.  mode is used with SFTP_CREATE only. */
void sftp_ask_open(struct sftp *s, const char *path, unsigned flags, mode_t mode,
                   struct sftp_waiter waiter);
/* A request that has only a handle: FXP_CLOSE, FXP_FSTAT or FXP_READDIR. */
void sftp_ask_of(struct sftp *s, int type, const struct sftp_handle *h, struct sftp_waiter waiter);
void sftp_ask_read(struct sftp *s, const struct sftp_handle *h, uint64_t offset, size_t n,
                   struct sftp_waiter waiter);
void sftp_ask_write(struct sftp *s, const struct sftp_handle *h, uint64_t offset, struct bytes data,
                    struct sftp_waiter waiter);
void sftp_ask_mode(struct sftp *s, const struct sftp_handle *h, mode_t mode,
                   struct sftp_waiter waiter);
/*
 * Some servers set no modes (setstat is not implemented, or forbidden).  A new file or folder then
 * keeps the mode that it was made with, which is fine unless others may do more with it than they
 * should.  sftp_is_mode_refused says whether a reply refuses to set a mode; then the caller asks
 * for the mode (FXP_LSTAT), and sftp_judge_made_mode turns the reply into failure or success.
 */
bool sftp_is_mode_refused(struct sftp *s, const struct sftp_reply *r);
void sftp_ask_made_mode(struct sftp *s, const char *path, struct sftp_waiter waiter);
struct sftp_reply sftp_judge_made_mode(const struct sftp_reply *r, mode_t wanted);
/* Only for a server with SFTP_CAN_SYNC. */
void sftp_ask_sync(struct sftp *s, const struct sftp_handle *h, struct sftp_waiter waiter);

/* As sftp_wait_any, but waits for other descriptors, too, at most SFTP_ANY_MAX.  timeout_ms -1: no
 * limit. */
int sftp_wait_beside(struct sftp *const *all, size_t n, const struct pollfd *others,
                     size_t n_others, int timeout_ms, struct err *e);
/* Sends queued bytes without waiting, once there are many. */
void sftp_push(struct sftp *s);
/* Ends the connection with that error and calls each waiter's on_reply with type 0. */
void sftp_break(struct sftp *s, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* -1 with e set when the connection is broken. */
int sftp_check(const struct sftp *s, struct err *e);

#endif

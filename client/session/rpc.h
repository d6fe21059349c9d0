/* SPDX-License-Identifier: MIT */
/*
 * rpc.h - asks ludwigd questions and takes its answers
 *
 * When a connection breaks, a new one is tried for a while, and the question is asked
 * again; changing requests carry an id, so that asking twice changes things once.
 */
#ifndef LUDWIG_CLIENT_SESSION_RPC_H
#define LUDWIG_CLIENT_SESSION_RPC_H

#include <stdbool.h>

#include "common/connect/mux.h"
#include "common/proto/proto.h"

/* How long to wait for a server that went away, as it may be restarted. */
enum { RPC_PATIENCE_MS = 10 * 1000 };

struct rpc {
    struct wire wire;
    struct endpoint to;
    struct arena *place; /* holds the texts of to */
    struct mux *mux;     /* over SSH: carries the questions, and further channels; else NULL */
    enum way way;
    char *user_label;           /* or NULL */
    struct msg_welcome welcome; /* its texts live in arena */
    struct arena *arena;
    int64_t patience_ms;
    int64_t hello_at_ms, round_trip_ms; /* of the greeting */
    int64_t n_opened;                   /* connections so far */
    int interrupt_fd;                   /* when readable, give up waiting; -1: none */
    bool is_silent;                     /* the terminal shows something else: do not ask on it */
    struct rpc *beside;                 /* the rpc whose mux this one uses; NULL: none */
};

int rpc_open(struct rpc *r, const struct endpoint *to, const char *user_label, struct err *e);
/* Opens a second connection to the other's server; over SSH that is a further channel of the same
 * SSH connection, if that allows it.  The other must outlive r, and one thread must use both. */
int rpc_open_beside(struct rpc *r, struct rpc *other, struct err *e);
/* These four do what rpc_open does, step by step.  A step that fails closes r. */
void rpc_begin(struct rpc *r, const struct endpoint *to, const char *user_label);
/* Over SSH: waits until the session is authenticated. */
int rpc_wait(struct rpc *r, struct err *e);
/* Connects to ludwigd and greets it.  with_sftp: also asks for a channel for SFTP, which mux_sftp
 * then gives. */
int rpc_hello(struct rpc *r, bool with_sftp, struct err *e);
/* Waits for ludwigd's answer to the greeting. */
int rpc_welcome(struct rpc *r, struct err *e);
void rpc_close(struct rpc *r); /* a zero-initialised r is fine */
/* Whether the server knows us as that user; compares accounts without the labels behind them. */
bool rpc_is_as(const struct rpc *r, const char *user);
/* Whether a process listens on that socket. */
bool rpc_is_answered(const char *socket_path);

/* Asks and waits; texts and lists of the reply last until the next call on r. */
int rpc_call(struct rpc *r, enum msg_type type, const void *request, void *reply, struct err *e);

/* A question that rpc_ask sent and rpc_answer has not answered yet, so that the caller can do other
 * work.  Several may be under way; take their answers in the order in which they were asked. */
struct rpc_question {
    enum msg_type type;
    const void *request; /* must stay valid until rpc_answer */
    struct token id;
    int64_t n_opened; /* number of the connection used */
    bool is_sent, is_lost;
    struct err why; /* why it was not sent */
};

void rpc_ask(struct rpc *r, struct rpc_question *q, enum msg_type type, const void *request);
int rpc_answer(struct rpc *r, struct rpc_question *q, void *reply, struct err *e);

/*
 * For callers that have several questions under way.  These functions fail with *lost set when the
 * connection broke; rpc_reopen makes a new one.
 */
int64_t rpc_send(struct rpc *r, enum msg_type type, const struct token *id, const void *body,
                 bool *lost, struct err *e);
/* Waits for one message of the type; -1 with e set, which may be the server's error. */
int rpc_receive(struct rpc *r, enum msg_type type, void *reply, bool *lost, struct err *e);
/* Reads the reply from the last received message. */
int rpc_read(struct rpc *r, const struct envelope *m, enum msg_type type, void *reply,
             struct err *e);
int rpc_reopen(struct rpc *r, struct err *e);

#endif

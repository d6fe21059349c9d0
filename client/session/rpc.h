/* SPDX-License-Identifier: MIT */
/*
 * rpc.h - questions to ludwigd, and its answers
 *
 * A connection that breaks is made again, for a while, and the question is asked
 * again; changing requests carry an id, so that asking twice changes things once.
 */
#ifndef LUDWIG_CLIENT_SESSION_RPC_H
#define LUDWIG_CLIENT_SESSION_RPC_H

#include <stdbool.h>

#include "common/connect/mux.h"
#include "common/proto/proto.h"

/* How long a server that went away is waited for: it may just be restarted. */
enum { RPC_PATIENCE_MS = 10 * 1000 };

struct rpc {
    struct wire wire;
    struct endpoint to;
    struct arena *place; /* texts of to */
    struct mux *mux;     /* over SSH: carries the questions, and further channels; else NULL */
    enum way way;
    char *user_label;           /* or NULL */
    struct msg_welcome welcome; /* its texts live in arena */
    struct arena *arena;
    int64_t patience_ms;
    int64_t hello_at_ms, round_trip_ms; /* of the greeting */
    int64_t n_opened;                   /* connections so far */
    int interrupt_fd;                   /* readable: give up waiting; -1: none */
};

int rpc_open(struct rpc *r, const struct endpoint *to, const char *user_label, struct err *e);
/* The same step by step.  After one that failed r is closed. */
void rpc_begin(struct rpc *r, const struct endpoint *to, const char *user_label);
/* Over SSH: until the SSH session stands. */
int rpc_wait(struct rpc *r, struct err *e);
/* Connects to ludwigd and greets it.  with_sftp: a channel for SFTP is asked for as well, which mux_sftp
 * will give. */
int rpc_hello(struct rpc *r, bool with_sftp, struct err *e);
/* Until ludwigd has answered that. */
int rpc_welcome(struct rpc *r, struct err *e);
void rpc_close(struct rpc *r); /* also one that is zero-initialised */

/* Whether somebody listens there. */
bool rpc_is_answered(const char *socket_path);

/* Asks and waits; texts and lists of the reply last until the next call on r. */
int rpc_call(struct rpc *r, enum msg_type type, const void *request, void *reply, struct err *e);

/* The same in two, for callers that do something else meanwhile, and ask nothing: a question that is on
 * its way. */
struct rpc_question {
    enum msg_type type;
    const void *request; /* there until it is answered */
    struct token id;
    int64_t n_opened; /* the connection that it went over */
    bool is_sent, is_lost;
    struct err why; /* it was not sent */
};

void rpc_ask(struct rpc *r, struct rpc_question *q, enum msg_type type, const void *request);
int rpc_answer(struct rpc *r, struct rpc_question *q, void *reply, struct err *e);

/*
 * For callers that have several questions under way.  They fail with *lost set when the connection
 * broke; rpc_reopen makes a new one.
 */
int64_t rpc_send(struct rpc *r, enum msg_type type, const struct token *id, const void *body,
                 bool *lost, struct err *e);
/* One message of the type, or -1 with e set by the server's error. */
int rpc_receive(struct rpc *r, enum msg_type type, void *reply, bool *lost, struct err *e);
/* Reads what the message that was received last says. */
int rpc_read(struct rpc *r, const struct envelope *m, enum msg_type type, void *reply,
             struct err *e);
int rpc_reopen(struct rpc *r, struct err *e);

#endif

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

/* Over SSH the one connection carries the questions, and further channels: see mux.h. */

/* A question right behind the greeting, which does not wait for the answer to that. */
struct rpc_ahead {
    enum msg_type type;
    const void *request;
    void *reply; /* of a kind without texts */
    bool is_answered;
    struct err why; /* ERR_NONE: reply is the answer */
};

struct rpc {
    struct wire wire;
    struct endpoint to;
    struct arena *place; /* texts of to */
    struct mux *mux;     /* NULL: a socket of this machine, or not connected */
    enum way way;
    char *user_label;           /* or NULL */
    struct msg_welcome welcome; /* its texts live in arena */
    struct arena *arena;
    int64_t patience_ms;
    int64_t round_trip_ms;           /* of the greeting */
    int64_t n_opened;                /* connections so far */
    bool wants_sftp;                 /* mux_sftp will be called once it has connected */
    int interrupt_fd;                /* readable: give up waiting; -1: none */
    struct rpc_ahead *ahead;         /* NULL: none */
    bool is_asked_ahead;             /* with the greeting of this connection */
    const struct idle *idle;         /* to be done while somebody waits; NULL: nothing */
    const struct mux_events *events; /* of the SSH connection; NULL: nobody hears of them */
    void (*greeting)(void *context); /* called while the server's greeting is awaited; or NULL */
    void *context;                   /* of greeting and events */
};

int rpc_open(struct rpc *r, const struct endpoint *to, const char *user_label, struct err *e);
/* What else there may be for whom it is opened; zero-initialised is nothing. */
struct rpc_company {
    const struct idle *idle;
    const struct mux_events *events;
    void *context; /* theirs */
};

/* The same in pieces: over SSH it is begun and not waited for, then the SSH session stands, then the
 * server has greeted. */
void rpc_begin(struct rpc *r, const struct endpoint *to, const char *user_label,
               const struct rpc_company *company);
int rpc_wait(struct rpc *r, struct err *e);
int rpc_greet(struct rpc *r, struct err *e);
/* A socket of this machine. */
int rpc_open_path(struct rpc *r, const char *socket_path, const char *user_label, struct err *e);
void rpc_close(struct rpc *r); /* also one that is zero-initialised */

/* Whether somebody listens there. */
bool rpc_is_answered(const char *socket_path);

/* Asks and waits; texts and lists of the reply last until the next call on r. */
int rpc_call(struct rpc *r, enum msg_type type, const void *request, void *reply, struct err *e);

/*
 * The pieces of rpc_call, for callers that have several questions under way.
 * They fail with *lost set when the connection broke; rpc_reopen makes a new one.
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

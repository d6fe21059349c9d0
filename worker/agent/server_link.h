/* SPDX-License-Identifier: MIT */
/*
 * server_link.h - the connection to ludwigd, made again whenever it breaks
 */
#ifndef LUDWIG_WORKER_AGENT_SERVER_LINK_H
#define LUDWIG_WORKER_AGENT_SERVER_LINK_H

#include <uv.h>

#include "common/proto/chan.h"
#include "common/proto/endpoint.h"
#include "common/proto/proto.h"

struct agent;

struct server_link_events {
    void (*welcome)(struct agent *ag, const struct msg_welcome *w);
    /* Any other message; with e set the connection is given up. */
    void (*message)(struct agent *ag, const struct envelope *m, struct arena *a, struct err *e);
    /* The connection broke, or could not be made. */
    void (*down)(struct agent *ag);
    /* ludwigd does not know us; down comes next. */
    void (*denied)(struct agent *ag, const struct err *why);
};

struct server_link;

/* This worker, as hello names it. */
struct server_link_self {
    const char *host;
    struct pilot_claim pilot; /* its token is zero: we are no pilot */
};

/* Nothing happens before server_link_start.  The servers are tried one after the other; they, and
 * what self names, have to last as long. */
struct server_link *server_link_create(uv_loop_t *loop, const struct endpoint *servers,
                                       size_t n_servers, const struct server_link_self *self,
                                       const struct server_link_events *events, struct agent *ag);
/* The server that is tried, or that has let us in. */
const struct endpoint *server_link_server(const struct server_link *l);
void server_link_destroy(struct server_link *l);
void server_link_start(struct server_link *l);
/* Something was achieved: the next back-off starts from the beginning, as it does after a
 * connection that lasted.  A connection that breaks again and again is no success. */
void server_link_settled(struct server_link *l);
/* ludwigd has taken us in: from now on it hears something at least that often, as long as this
 * connection lasts. */
void server_link_keep_alive(struct server_link *l, uint64_t every_ms);
/* Gives the connection up, and makes it again after the back-off. */
void server_link_drop(struct server_link *l, const char *why);
/* seq of the message, -1 when there is no connection. */
int64_t server_link_send(struct server_link *l, int type, int64_t re, const void *body);

/* Milliseconds to wait after so many failures in a row; random in 0..1 spreads the workers. */
uint64_t server_link_delay_ms(unsigned failures, bool is_quick, double random);

#endif

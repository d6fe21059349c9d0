/* SPDX-License-Identifier: MIT */
/*
 * server_link.h - the agent's connection to ludwigd, made again whenever it breaks
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
    /* Any other message; if the handler sets e, the connection is dropped. */
    void (*message)(struct agent *ag, const struct envelope *m, struct arena *a, struct err *e);
    /* The connection broke, or could not be made. */
    void (*down)(struct agent *ag);
    /* ludwigd refuses this worker; down follows. */
    void (*denied)(struct agent *ag, const struct err *why);
};

struct server_link;

/* What the hello message says about this worker. */
struct server_link_self {
    const char *host;
    struct pilot_claim pilot; /* token zero: this is no pilot */
};

/* Makes a link, idle until server_link_start.  The servers are tried one after the other; they and
 * the strings of self must outlive the link, self and events are copied. */
struct server_link *server_link_create(uv_loop_t *loop, const struct endpoint *servers,
                                       size_t n_servers, const struct server_link_self *self,
                                       const struct server_link_events *events, struct agent *ag);
/* The server that is being tried, or is connected. */
const struct endpoint *server_link_server(const struct server_link *l);
void server_link_destroy(struct server_link *l);
void server_link_start(struct server_link *l);
/* The connection was of use: the next back-off starts from the beginning, as it does after a
 * connection that lasted 30 s.  Connections that break again and again must not call this. */
void server_link_settled(struct server_link *l);
/* After registration: sends ludwigd an alive message every so often while this connection lasts. */
void server_link_keep_alive(struct server_link *l, uint64_t every_ms);
/* Drops the connection, for this reason, and makes it again after the back-off. */
void server_link_drop(struct server_link *l, const char *why);
/* Returns the message's number; -1 if there is no connection or the message cannot be sent. */
int64_t server_link_send(struct server_link *l, int type, int64_t re, const void *body);

/* Milliseconds to wait after so many failures in a row, is_quick: 2 s at most, else 30 s; random in
 * 0..1 spreads the workers. */
uint64_t server_link_delay_ms(unsigned failures, bool is_quick, double random);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * server_connect.h - a connected descriptor to ludwigd, got without waiting
 *
 * A socket of this machine is connected to at once; over SSH a child keeps the session (see
 * common/connect/mux.h), and is started again when that is lost.
 */
#ifndef LUDWIG_WORKER_AGENT_SERVER_CONNECT_H
#define LUDWIG_WORKER_AGENT_SERVER_CONNECT_H

#include <uv.h>

#include "common/connect/mux.h"

/* fd (non-blocking, the callee's), or -1 with why. */
typedef void (*server_connect_fn)(void *context, int fd, enum way way, const struct err *why);

struct server_connect;

struct server_connect *server_connect_create(uv_loop_t *loop, const struct endpoint *to,
                                             server_connect_fn done, void *context);
void server_connect_destroy(struct server_connect *r); /* done is not called any more */

/* done follows, perhaps before this returns; once for each. */
void server_connect_begin(struct server_connect *r);
bool server_connect_is_busy(const struct server_connect *r);
/* A descriptor that came from here has ended: 0 and e set if that is because the session is lost,
 * else -1. */
int server_connect_why_lost(struct server_connect *r, struct err *e);

#endif

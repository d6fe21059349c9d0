/* SPDX-License-Identifier: MIT */
/*
 * reach.h - a connected descriptor to ludwigd, got without waiting
 *
 * A socket of this machine is connected to at once; over SSH a child keeps the session (see
 * common/connect/mux.h), and is started again when that is lost.
 */
#ifndef LUDWIG_WORKER_AGENT_REACH_H
#define LUDWIG_WORKER_AGENT_REACH_H

#include <uv.h>

#include "common/connect/mux.h"

/* fd (non-blocking, the callee's), or -1 with why. */
typedef void (*reach_fn)(void *context, int fd, enum way way, const struct err *why);

struct reach;

struct reach *reach_create(uv_loop_t *loop, const struct endpoint *to, reach_fn done,
                           void *context);
void reach_destroy(struct reach *r); /* done is not called any more */

/* done follows, perhaps before this returns; once for each. */
void reach_begin(struct reach *r);
bool reach_is_busy(const struct reach *r);
/* A descriptor that came from here has ended: 0 and e set if that is because the session is lost,
 * else -1. */
int reach_why_lost(struct reach *r, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * embedded.h - the user's own ludwigd and worker, on this machine
 *
 * $XDG_STATE_HOME/ludwig/ (0700) holds their configuration, state and logs, and
 * "address" (see address.h).
 */
#ifndef LUDWIG_CLIENT_SESSION_EMBEDDED_H
#define LUDWIG_CLIENT_SESSION_EMBEDDED_H

#include <stdbool.h>

#include "client/session/rpc.h"
#include "client/util/conf.h"

/* Connects; a server that is not running is an error that says how to start it. */
int embedded_connect(struct rpc *rpc, const struct conf *c, struct err *e);

/* As embedded_connect, but on a login node, which may end users' processes at any time, a server
 * that ended without `ludwig down` is started again, and a note says that. */
int embedded_reach(struct rpc *rpc, const struct conf *c, struct err *e);

/*
 * Starts the server and a worker unless they run, and connects.  On a login node (login_node.h) no
 * worker is started unless wants_worker, as people may not compute there.  *has_no_worker: none was
 * started for that reason, and there is no other worker either, pilots left out.
 */
int embedded_up(struct rpc *rpc, const struct conf *c, bool wants_worker, bool *has_no_worker,
                struct err *e);

/* Stops only the server; its workers wait for the next one.  Returns 1, 0 if none runs, or -1. */
int embedded_stop_server(const struct conf *c, struct err *e);

/* Stops the server and its workers here; running jobs go on. */
int embedded_down(const struct conf *c, struct err *e);

#endif

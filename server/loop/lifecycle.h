/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.c knows every part of ludwigd, and no part knows lifecycle.c.
 */
#ifndef LUDWIG_SERVER_LOOP_LIFECYCLE_H
#define LUDWIG_SERVER_LOOP_LIFECYCLE_H

#include "server/base/server.h"

/*
 * A server without sockets: state folder, database, turn.  conf must be filled, and belongs to
 * sv from here on, also when it fails.  After a failure there is nothing to close.
 */
int server_open(struct server *sv, struct err *e);
/* Makes the share and the sockets. */
int server_listen(struct server *sv, struct err *e);
/* Runs until server_leave was called and the peers have read all answers. */
void server_run(struct server *sv);
/* Takes no new connections and requests, and flushes the answers for a limited time. */
void server_leave(struct server *sv, const char *why);
void server_close(struct server *sv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.h - puts ludwigd together, runs it, takes it apart
 *
 * It knows every part, and none of them knows it.
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
/* Runs until server_leave was called and all that was to be said has been read. */
void server_run(struct server *sv);
/* No new connections and requests; what was answered is flushed, but not for ever. */
void server_leave(struct server *sv, const char *why);
void server_close(struct server *sv);

#endif

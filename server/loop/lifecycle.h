/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.h - puts ludwigd together, runs it and takes it apart
 *
 * lifecycle.c uses every part of ludwigd, and no part uses lifecycle.c.
 */
#ifndef LUDWIG_SERVER_LOOP_LIFECYCLE_H
#define LUDWIG_SERVER_LOOP_LIFECYCLE_H

#include "server/base/server.h"

/* Opens a server without sockets: state folder, database, turn.  sv->conf must be filled, and
 * belongs to sv from here on.  After -1 there is nothing to close. */
int server_open(struct server *sv, struct err *e);
/* Makes the folders on the share, and the sockets. */
int server_listen(struct server *sv, struct err *e);
/* Runs until server_leave was called and the peers have read all answers, or had 2 s for that. */
void server_run(struct server *sv);
/* Makes server_run end: no connections and requests are taken any more. */
void server_leave(struct server *sv, const char *why);
void server_close(struct server *sv);

#endif

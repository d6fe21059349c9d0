/* SPDX-License-Identifier: MIT */
/*
 * listen.h - the unix sockets ludwigd listens on
 */
#ifndef LUDWIG_SERVER_CONN_LISTEN_H
#define LUDWIG_SERVER_CONN_LISTEN_H

#include "server/base/server.h"

struct listeners *listeners_create(void);
/* Closes and unlinks the sockets, unless others' sockets lie there by now.  NULL is fine. */
void listeners_destroy(struct listeners *l);

/*
 * Listens on path: for all users, or, with a group, for its members.  A socket that lies there is
 * replaced if no process answers on it; else ERR_BUSY.
 */
int listen_on(struct server *sv, const char *path, const char *group, struct err *e);

/*
 * Listens under the last name of path in the open folder dir_fd, for one user alone.  Takes
 * dir_fd over, also on failure.
 */
struct listener *listen_for(struct server *sv, int dir_fd, const char *path, uid_t only,
                            const char *name, struct err *e);
void listener_stop(struct server *sv, struct listener *l);
/* Whether the socket of that name in this folder is the listener's. */
bool listener_lies_in(const struct listener *l, int dir_fd);

#endif

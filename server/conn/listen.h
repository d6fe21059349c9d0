/* SPDX-License-Identifier: MIT */
/*
 * listen.h - the unix sockets ludwigd listens on
 */
#ifndef LUDWIG_SERVER_CONN_LISTEN_H
#define LUDWIG_SERVER_CONN_LISTEN_H

#include "server/base/server.h"

struct listeners *listeners_create(void);
/* Closes and unlinks the sockets, unless somebody else's lie there by now.  NULL is fine. */
void listeners_destroy(struct listeners *l);

/*
 * Listens on path: for everybody, or, with a group, for its members.  A socket that
 * lies there is replaced if nobody answers on it; ERR_BUSY if somebody does.
 */
int listen_on(struct server *sv, const char *path, const char *group, struct err *e);

/*
 * Listens on the last name of path in a folder that is open already, for one user alone.
 * Owns dir_fd, also when it fails.
 */
struct listener *listen_for(struct server *sv, int dir_fd, const char *path, uid_t only,
                            const char *name, struct err *e);
void listener_stop(struct server *sv, struct listener *l);
/* Its socket is the one that has its name in this folder. */
bool listener_lies_in(const struct listener *l, int dir_fd);

#endif

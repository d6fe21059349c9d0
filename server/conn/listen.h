/* SPDX-License-Identifier: MIT */
/* listen.h - the unix sockets that ludwigd listens on */
#ifndef LUDWIG_SERVER_CONN_LISTEN_H
#define LUDWIG_SERVER_CONN_LISTEN_H

#include "server/base/server.h"

struct listeners *listeners_create(void);
/* Closes the sockets, and unlinks those that were not replaced by others.  NULL is fine. */
void listeners_destroy(struct listeners *l);

/* Listens on path: for all users, or for the members of group if it is not NULL.  A socket that
 * lies there is replaced if no process answers on it; else ERR_BUSY. */
int listen_on(struct server *sv, const char *path, const char *group, struct err *e);

/* Listens in the open folder dir_fd, under the last name of path, for the user with the uid `only`
 * and this name alone.  Takes dir_fd over, also on failure.  NULL with e set. */
struct listener *listen_for(struct server *sv, int dir_fd, const char *path, uid_t only,
                            const char *name, struct err *e);
void listener_stop(struct server *sv, struct listener *l); /* unlinks its socket, frees it */
/* Whether the listener's socket lies in this folder: none was put in its place. */
bool listener_lies_in(const struct listener *l, int dir_fd);

#endif

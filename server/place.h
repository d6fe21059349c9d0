/* SPDX-License-Identifier: MIT */
/*
 * place.h - the folders ludwigd needs: its state, the share, the sockets', a project's
 */
#ifndef LUDWIG_SERVER_PLACE_H
#define LUDWIG_SERVER_PLACE_H

#include "server/server.h"

/* The state folder, ours alone (0700), locked for as long as the descriptor lives; its number, or
 * -1: ERR_BUSY names the process that uses it. */
int place_state(const char *state, struct err *e);

/* <share>, <share>/.ludwig, the file that says which server it belongs to, and where projects
 * lie. */
int place_share(struct server *sv, struct err *e);
char *place_projects(const struct server *sv); /* caller frees */

/* The folder a socket is to lie in. */
int place_socket_dir(const struct server *sv, const char *socket, struct err *e);

/* The project's folder, which belongs to uid if we are root.  One that is there stays as it is. */
int place_project(struct server *sv, const char *project, uid_t uid, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * server_dirs.h - the folders ludwigd needs: its state, the share, the sockets', where projects lie
 */
#ifndef LUDWIG_SERVER_SHARE_SERVER_DIRS_H
#define LUDWIG_SERVER_SHARE_SERVER_DIRS_H

#include "server/base/server.h"

/* The state folder, ours alone (0700), locked for as long as the descriptor lives; its number, or
 * -1: ERR_BUSY names the process that uses it. */
int server_dirs_state(const char *state, struct err *e);

/* Makes <share>, <share>/.ludwig and the folder of projects. */
int server_dirs_share(struct server *sv, struct err *e);
char *server_dirs_projects(const struct server *sv); /* the folder of projects; caller frees */
/* A descriptor of the folder of projects, or -1; makes: folders missing on the way are made. */
int server_dirs_open_projects(const struct server *sv, bool makes, struct err *e);
/* Writes the file that names the share's server; once it is known whether the inbox is open. */
int server_dirs_id(const struct server *sv, struct err *e);
/* Writes there that ludwigd has ended. */
void server_dirs_take_id_back(const struct server *sv);

/* Makes a socket's folder if it is missing, and checks that others cannot exchange the socket. */
int server_dirs_socket_dir(const struct server *sv, const char *socket, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* server_dirs.h - the folders that ludwigd needs: state, share, projects, pilots' logs, sockets */
#ifndef LUDWIG_SERVER_SHARE_SERVER_DIRS_H
#define LUDWIG_SERVER_SHARE_SERVER_DIRS_H

#include "server/base/server.h"

/* Opens, or makes, the state folder, which must be ludwigd's alone (0700), and locks it for as long
 * as the returned descriptor is open.  -1 with e set; ERR_BUSY names the process that uses it. */
int server_dirs_state(const char *state, struct err *e);

/* Makes <share>, <share>/.ludwig and the folder of projects. */
int server_dirs_share(struct server *sv, struct err *e);
char *server_dirs_projects(const struct server *sv); /* the folder of projects; caller frees */
/* A descriptor of the folder of projects, or -1; makes: folders missing on the way are made. */
int server_dirs_open_projects(const struct server *sv, bool makes, struct err *e);
/* Writes the share's id file (shareid.h); sv->inbox must be there, as the file tells its kind. */
int server_dirs_id(const struct server *sv, struct err *e);
/* Writes into the id file that ludwigd has ended. */
void server_dirs_take_id_back(const struct server *sv);

/* Makes the folder for the logs of a user's pilots, where nobody else may write: Slurm opens a log
 * with the user's rights and follows links, which others may be able to put into a project.  May
 * wait for the share; callable on any thread.  ERR_DENIED: the folder that is there is not the
 * user's alone. */
int server_dirs_pilots(const char *share, uid_t uid, gid_t gid, struct err *e);
char *server_dirs_pilots_path(const char *share, uid_t uid); /* caller frees */

/* Makes a socket's folder if it is missing, and checks that others cannot exchange the socket. */
int server_dirs_socket_dir(const struct server *sv, const char *socket, struct err *e);

#endif

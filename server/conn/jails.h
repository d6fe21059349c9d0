/* SPDX-License-Identifier: MIT */
/*
 * jails.h - a socket in each user's folder, where the site's sshd locks that user in
 *
 * A pattern "/srv/sftp/%u/ludwig/server.sock" means: every folder of /srv/sftp that has the name of
 * a user of this system gets a socket, which serves this user alone.  Folders that come and go are
 * noticed by inotify, on network file systems by a look every 30 s.
 *
 * ludwigd enters no folder that any account but root and its own could change; sshd, too, requires
 * a jail's root to be root's.  Other jails are passed over, and the log says why.
 */
#ifndef LUDWIG_SERVER_CONN_JAILS_H
#define LUDWIG_SERVER_CONN_JAILS_H

#include "server/base/server.h"

/* Follows a pattern: makes the sockets once the users' accounts are looked up.  -1 with e set if
 * the folder that holds the jails is missing or cannot be trusted. */
int jails_follow(struct server *sv, const char *pattern, struct err *e);
/* Removes the sockets of all patterns. */
void jails_destroy(struct server *sv);

#endif

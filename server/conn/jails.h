/* SPDX-License-Identifier: MIT */
/*
 * jails.h - a socket in each user's folder, where the site's sshd locks that user in
 *
 * "/srv/sftp/%u/ludwig/server.sock": for every folder of /srv/sftp that is called as a user of
 * this system, a socket that serves this user alone.  Users are followed as they come and go: by
 * what the kernel tells of changes, on network file systems by looking every 30 s.
 *
 * ludwigd enters no folder that any account but root or its own could change: sshd wants a
 * jail's root to be root's, too.  Such a jail is passed over, and the log says why.
 */
#ifndef LUDWIG_SERVER_CONN_JAILS_H
#define LUDWIG_SERVER_CONN_JAILS_H

#include "server/base/server.h"

/* Makes the sockets once the users' accounts are known, and follows changes.  The folder that holds
 * the jails must be there. */
int jails_follow(struct server *sv, const char *pattern, struct err *e);
/* Removes all the sockets. */
void jails_destroy(struct server *sv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * jails.h - a socket in each user's folder, where that user's sshd locks him in
 *
 * "/srv/sftp/%u/ludwig/server.sock": for every folder of /srv/sftp that is called as a user of
 * this system, a socket that serves this user alone.  Users are followed as they come and go: by
 * what the kernel tells of changes, on network file systems by looking every 30 s.
 *
 * No folder is entered that anybody but root or ludwigd's own account could change: sshd wants a
 * jail's root to be root's, too.  Such a jail is passed over, and the log says why.
 */
#ifndef LUDWIG_SERVER_CONN_JAILS_H
#define LUDWIG_SERVER_CONN_JAILS_H

#include "server/base/server.h"

/* Makes what sockets there are to be, once the machine has said who the users are, and goes on
 * following.  The folder that holds the jails must be there. */
int jails_follow(struct server *sv, const char *pattern, struct err *e);
/* Takes all of them away. */
void jails_destroy(struct server *sv);

#endif

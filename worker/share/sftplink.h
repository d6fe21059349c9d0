/* SPDX-License-Identifier: MIT */
/*
 * sftplink.h - opens SFTP connections to ludwigd's machine for a child of the agent
 *
 * They share an SSH session, which a process keeps (common/connect/mux.h): it is started when it is
 * first needed and again when it breaks, and ended when no connection is in use.  After a failure
 * the next try comes after a pause, however many threads ask.
 */
#ifndef LUDWIG_WORKER_SHARE_SFTPLINK_H
#define LUDWIG_WORKER_SHARE_SFTPLINK_H

#include "common/share/share.h"

struct sftplink;

/* address: ludwigd's, "ssh://..."; "": ludwigd is on this machine, and every connection fails.
 * Ignores SIGCHLD from now on, so that nobody waits for the session's process. */
struct sftplink *sftplink_create(const char *address);
void sftplink_destroy(struct sftplink *l); /* NULL is fine */

/* Returns how long to leave a share alone after a failure: 1 s at first, then twice last_ms, 30 s
 * at most.  last_ms: the pause after the failure before; 0: there was none. */
int64_t sftplink_pause_ms(int64_t last_ms);

/* Returns a source of connections, which any thread may use. */
struct share_source sftplink_source(struct sftplink *l);

#endif

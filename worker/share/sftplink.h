/* SPDX-License-Identifier: MIT */
/*
 * sftplink.h - how a child of the agent gets at files of ludwigd's machine
 *
 * Over an SSH connection of its own, which a process keeps (common/connect/mux.h): it is made when
 * it is first needed, again when it breaks, and ended when it is not used.  If it cannot be made,
 * the next try is made after a pause, however many threads ask.
 */
#ifndef LUDWIG_WORKER_SHARE_SFTPLINK_H
#define LUDWIG_WORKER_SHARE_SFTPLINK_H

#include "common/share/share.h"

struct sftplink;

/* address: of ludwigd, "ssh://..."; "": this machine's, to which there is no connection. */
struct sftplink *sftplink_create(const char *address);
void sftplink_destroy(struct sftplink *l); /* NULL is fine */

/* How long to leave a share alone after a failure: a second at first, twice as long each time, 30
 * seconds at most.  last_ms: the pause after the failure before, 0 if there was none. */
int64_t sftplink_pause_ms(int64_t last_ms);

/* For use by any thread. */
struct share_source sftplink_source(struct sftplink *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sshd.h - an sshd of ludwigd's own, for a ludwigd without root
 *
 * Where the site's sshd wants a second factor, or nodes cannot use it, ludwigd runs OpenSSH's sshd
 * as its own user, on a port of its own, for keys that `ludwig invite` let in.  This sshd is
 * started again when it dies, and ends with ludwigd; one that an earlier ludwigd left is ended
 * first.
 */
#ifndef LUDWIG_SERVER_SSHD_SSHD_H
#define LUDWIG_SERVER_SSHD_SSHD_H

#include "server/base/server.h"

struct sshd;

/* Starts sshd as conf.sshd_listen says; NULL with e set if that is impossible: there is no sshd,
 * ludwigd is root, or others may write into its folder.  A taken port is no error: it is tried
 * again. */
struct sshd *sshd_create(struct server *sv, struct err *e);
/* For a ludwigd without sshd: ends the sshd that an earlier ludwigd may have left. */
void sshd_end_left(const struct server *sv);
/* Ends sshd and waits for it; open sessions end by themselves.  NULL is fine. */
void sshd_destroy(struct sshd *s);

#endif

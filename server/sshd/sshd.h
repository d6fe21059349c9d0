/* SPDX-License-Identifier: MIT */
/*
 * sshd.h - an sshd of ludwigd's own, for a ludwigd without root
 *
 * Where the site's sshd wants a second factor, or nodes cannot use it, ludwigd runs OpenSSH's sshd
 * as its own user, on a port of its own, for keys that `ludwig invite` let in.  It is started again
 * when it dies, ends with ludwigd, and one that an earlier ludwigd has left is ended first.
 */
#ifndef LUDWIG_SERVER_SSHD_SSHD_H
#define LUDWIG_SERVER_SSHD_SSHD_H

#include "server/base/server.h"

struct sshd;

/* Starts sshd as conf.sshd_listen says; NULL with e set when it cannot be: no sshd here, root, a
 * folder that others may write.  A port that is taken is not an error here, but tried again. */
struct sshd *sshd_create(struct server *sv, struct err *e);
/* For a ludwigd without sshd: ends the sshd that an earlier ludwigd may have left. */
void sshd_end_left(const struct server *sv);
/* Ends sshd; open sessions end when they notice.  NULL is fine. */
void sshd_destroy(struct sshd *s);

#endif

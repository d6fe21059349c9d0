/* SPDX-License-Identifier: MIT */
/*
 * courier.h - a connection to ludwigd where nothing but files gets through
 *
 * A process of its own carries the stream as the requests and replies of file_request.h.  The program
 * at the other end of its socket pair sees a connected stream socket, which closes when ludwigd ended
 * the connection, was started anew or does not answer.  The courier ends when that descriptor is
 * closed, also by a death, and removes its files, for which it needs the SFTP session a moment
 * longer.
 *
 * What can be known before the first byte is an error here: no inbox, one that ludwigd would not
 * trust, a ludwigd that was stopped.
 */
#ifndef LUDWIG_COMMON_CONNECT_COURIER_H
#define LUDWIG_COMMON_CONNECT_COURIER_H

#include "common/base/err.h"

struct courier;

/*
 * Through the SFTP session at sftp_fd, which it owns, also when it fails.  share: the path of
 * the share there.  user: the account's name there, by which its inbox is found at once;
 * NULL: it is looked for.
 */
struct courier *courier_over_sftp(int sftp_fd, const char *share, const char *user, struct err *e);
/* Through the share itself, which lies at that path of this machine. */
struct courier *courier_over_folder(const char *share, struct err *e);

/* Forks the process, which nobody needs to wait for; call it before any thread is started, for a
 * courier over a folder.  The descriptor (blocking, close-on-exec), or -1 with e set.  Frees c in
 * any case. */
int courier_start(struct courier *c, struct err *e);

/* Does that process's work in this one: carries the stream of stream_fd, which it owns, to its end.
 * 0 when both sides closed it in good order.  Frees c. */
int courier_run(struct courier *c, int stream_fd, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * courier.h - a connection to ludwigd where only files get through
 *
 * A separate process, the courier, carries the stream as the requests and replies of
 * file_request.h.  The program at the other end of its socket pair sees a connected stream socket,
 * which closes when ludwigd ends the connection, starts anew or does not answer.  When the program
 * closes that socket or dies, the courier removes its files, for which it needs the SFTP session a
 * moment longer, and ends.
 *
 * Creating a courier fails when there is no inbox, ludwigd would not trust it, or is stopped.
 */
#ifndef LUDWIG_COMMON_CONNECT_COURIER_H
#define LUDWIG_COMMON_CONNECT_COURIER_H

#include "common/base/err.h"

struct courier;

/*
 * A courier through the SFTP session at sftp_fd, which it takes over and closes on failure.  share:
 * the path of the share on that server.  user: the account's name there, by which the inbox is
 * found at once; NULL: the inbox is searched for.
 */
struct courier *courier_over_sftp(int sftp_fd, const char *share, const char *user, struct err *e);
/* A courier through the share itself, mounted at this path. */
struct courier *courier_over_folder(const char *share, struct err *e);

/* Forks the process, which needs no waitpid; for a courier over a folder, call it before any thread
 * is started.  Gives the program's end of the socket pair (blocking, close-on-exec), or -1 with e
 * set.  Frees c in any case. */
int courier_start(struct courier *c, struct err *e);

/* Does the courier's work in this process: carries the stream of stream_fd, which it closes, to its
 * end.  Returns 0 when both sides closed the stream in good order.  Frees c. */
int courier_run(struct courier *c, int stream_fd, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * inbox.h - connections made of request and reply files, for clients that have only SFTP
 *
 * Requests (file_request.h) lie in <share>/.ludwig/inbox/<uid>/, which belongs to that user, and
 * count as the user's; replies lie in <share>/.ludwig/outbox/.  To the dispatcher each connection
 * is a socket pair, whose uid is the folder's.
 *
 * Files are opened, read, written and removed by one thread of libuv's pool at a time, as the share
 * may be slow or hang; it works for one user after the other, for a bounded time each.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_H
#define LUDWIG_SERVER_INBOX_INBOX_H

#include "common/proto/shareid.h"
#include "server/base/server.h"

struct inbox;

/* Makes inbox and outbox on the share, and begins to look for requests.  Never NULL: where the
 * folders cannot be trusted, no requests are taken and inbox_kind says INBOX_NONE. */
struct inbox *inbox_create(struct server *sv);
/* Takes no more requests, and waits for the thread.  NULL is fine. */
void inbox_stop(struct inbox *in);
/* To be called when all connections are closed: writes each client's last reply, marked as the
 * last. NULL is fine. */
void inbox_destroy(struct inbox *in);

enum inbox_kind inbox_kind(const struct inbox *in);
const char *inbox_why_none(const struct inbox *in); /* why INBOX_NONE; NULL: it is open */

/* Tells of a user who connected in another way, and gets a folder although no list names them. */
void inbox_meet(struct inbox *in, uid_t uid);
/* Tells that a client may connect by files soon: without inotify, folders are listed often now. */
void inbox_expect(struct inbox *in);

#endif

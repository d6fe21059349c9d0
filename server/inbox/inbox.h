/* SPDX-License-Identifier: MIT */
/*
 * inbox.h - connections that are made of files (file_request.h), where nothing else gets through
 *
 * <share>/.ludwig/inbox/<uid>/ belongs to that user, and what it brings is taken in the user's
 * name; <share>/.ludwig/outbox/ holds the answers.  The dispatcher sees connections like others:
 * a socket pair each, whose uid is the folder's.
 *
 * Files are opened, read, written and removed by one thread of libuv's pool at a time, as the
 * share may be slow or hang; it works for one user after the other, and a bounded time for each.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_H
#define LUDWIG_SERVER_INBOX_INBOX_H

#include "common/proto/shareid.h"
#include "server/base/server.h"

struct inbox;

/* Makes inbox and outbox on the share and begins to look.  Never fails: where the folders cannot be
 * trusted, no requests are taken and inbox_kind says INBOX_NONE. */
struct inbox *inbox_create(struct server *sv);
/* Takes no more requests, and waits for work under way.  NULL is fine. */
void inbox_stop(struct inbox *in);
/* Call it when all connections are closed: writes each client's last reply, marked as the last.
 * NULL is fine. */
void inbox_destroy(struct inbox *in);

enum inbox_kind inbox_kind(const struct inbox *in);
const char *inbox_why_none(const struct inbox *in); /* NULL: it is open */

/* A user has connected in another way: a user that no list of users names gets a folder, too. */
void inbox_meet(struct inbox *in, uid_t uid);
/* A client may connect by files soon: where inotify does not help, folders are listed often. */
void inbox_expect(struct inbox *in);

#endif

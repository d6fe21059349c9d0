/* SPDX-License-Identifier: MIT */
/*
 * dispatch.h - from a message to its handler, and back to an answer
 *
 * A table says which function handles which message; the table of messages (proto.h) has its
 * senders and its answer.  The answer to a changing request is kept under the request's id and its
 * asker's uid, in the transaction of the change: a repeated request gets it again and changes
 * nothing.
 *
 * A request that fails is answered with an error and changes nothing.  A peer that breaks the rules
 * (a bad frame, a body that does not fit its table, a message that it may not send, or sends before
 * hello) is told so and cut off.
 */
#ifndef LUDWIG_SERVER_LOOP_DISPATCH_H
#define LUDWIG_SERVER_LOOP_DISPATCH_H

#include "server/conn/handler.h"

/* How long answers are kept; and how many of each user, the newest ones. */
enum { REQUESTS_KEPT_MS = 7 * 24 * 3600 * 1000, REQUESTS_KEPT = 20000 };

/* Handles a message, whose values live in *arena.  If the handler has more to do, keeps that arena
 * and puts a new one into *arena. */
void dispatch_message(struct server *sv, struct conn *c, const struct envelope *m,
                      struct arena **arena);
/* Goes on with the connection's unfinished request; returns its seq. */
int64_t dispatch_go_on(struct server *sv, struct conn *c);
/* Answers a message that the channel could not read; m: what could be read of its envelope. */
void dispatch_refused(struct conn *c, const struct envelope *m, const struct err *why);
/* Drops the connection's unfinished request. */
void dispatch_forget(struct conn *c);

/* Turn work: drops kept answers older than REQUESTS_KEPT_MS, some at a time. */
int dispatch_forget_requests(struct server *sv, int64_t unused, struct err *e);
/* Turn work: drops the oldest kept answers of a user who has more than REQUESTS_KEPT. */
int dispatch_forget_more(struct server *sv, int64_t uid, struct err *e);

#endif

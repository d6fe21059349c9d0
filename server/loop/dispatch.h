/* SPDX-License-Identifier: MIT */
/*
 * dispatch.h - from a message to its handler, and back to an answer
 *
 * A table says which function handles which message; the table of messages has its senders and its
 * answer.  The first answer of a changing request is
 * kept under its id and its asker's uid, in the same transaction as the change.
 *
 * A request that fails is answered with an error and changes nothing.  A peer that breaks
 * the rules (a bad frame, a body that does not fit its table, a message it may not
 * send or sends before hello) is told so and cut off.
 */
#ifndef LUDWIG_SERVER_LOOP_DISPATCH_H
#define LUDWIG_SERVER_LOOP_DISPATCH_H

#include "server/conn/handler.h"

/* For so long, and of each user so many, the newest. */
enum { REQUESTS_KEPT_MS = 7 * 24 * 3600 * 1000, REQUESTS_KEPT = 20000 };

/* Keeps the arena, and puts a new one in its place, when the handler has more to do. */
void dispatch_message(struct server *sv, struct conn *c, const struct envelope *m,
                      struct arena **arena);
/* Goes on with the connection's unfinished request; returns its seq. */
int64_t dispatch_go_on(struct server *sv, struct conn *c);
/* The channel could not read the message, as far as m tells. */
void dispatch_refused(struct conn *c, const struct envelope *m, const struct err *why);
/* Drops the connection's unfinished request. */
void dispatch_forget(struct conn *c);

/* Work for a turn: drops kept answers older than REQUESTS_KEPT_MS, some at a time. */
int dispatch_forget_requests(struct server *sv, int64_t unused, struct err *e);
/* The same of the user's that are more than REQUESTS_KEPT. */
int dispatch_forget_more(struct server *sv, int64_t uid, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * notices.h - notifies a sweep's owner that it ended or stalled, or that a job failed
 *
 * An event is a row of the table notice: triggers of the database write it in the transaction in
 * which the event happens.  A worker delivers the notification, which is given to it as an advisor
 * is: as an attempt without a job, which takes no slot and runs with the owner's rights.  The row
 * has the attempt's token, so that ludwigd and the agent may end meanwhile.  A notification that
 * the worker reports as delivered is never sent again.  One that failed, or whose outcome is not
 * known, is sent again after growing pauses, TRIES_MAX times at most.
 */
#ifndef LUDWIG_SERVER_NOTIFY_NOTICES_H
#define LUDWIG_SERVER_NOTIFY_NOTICES_H

#include "common/proto/proto.h"
#include "server/base/server.h"

struct conn;
struct notices;

/* Sets sv->look_at_notices, and queues it for the notices that the last ludwigd left. */
struct notices *notices_create(struct server *sv);
void notices_destroy(struct notices *x); /* NULL is fine */

/* Takes the worker's report if it is about a notification: 1, 0 if it is not, -1 with e set. */
int notices_take_report(struct server *sv, const struct conn *c, const struct report *r,
                        struct err *e);
/* Whether the worker was given a notification with this token: 1, 0, -1 with e set. */
int notices_have(struct server *sv, int64_t worker, const struct token *token, struct err *e);
/* Called when a worker registers: of the notifications that it was given, those that it does not
 * hold (held: struct held, sorted by token) have failed. */
int notices_settle(struct server *sv, int64_t worker, const struct list *held, struct err *e);

#endif

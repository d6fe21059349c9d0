/* SPDX-License-Identifier: MIT */
/*
 * advice.h - advisors of sweeps: the record of each, and the process that each has on a worker
 *
 * docs/internals/advisor.md says what is recorded, and when.  Call all but advice_left in a turn.
 */
#ifndef LUDWIG_SERVER_SEARCH_ADVICE_H
#define LUDWIG_SERVER_SEARCH_ADVICE_H

#include "common/proto/proto.h"
#include "server/base/server.h"

struct advice;
struct conn;

struct advice *advice_create(struct server *sv);
void advice_destroy(struct advice *x); /* NULL is fine */
/* At start: queues turn work for all sweeps whose advisor the last ludwigd left unfinished. */
int advice_load(struct server *sv, struct err *e);

/* Takes a worker's message: a line of an advisor that it runs, or that the advisor can take more.
 * Returns 1 to be called again in a later turn, 0, -1; *done, 0 at first, keeps the progress. */
int advice_take(struct server *sv, const struct conn *c, const struct msg_advice *m, size_t *done,
                struct err *e);
/* Takes a worker's measured values from index *done on, and moves *done: tells the last value of
 * each attempt to the sweep's advisor, if that wants steps.  Returns 1 when the turn was full
 * before the end, 0, -1. */
int advice_take_steps(struct server *sv, int64_t worker, const struct list *values, size_t *done,
                      struct err *e);
/* Takes the report if it is about an advisor's process: 1; else 0; -1. */
int advice_take_report(struct server *sv, const struct conn *c, const struct report *r,
                       struct err *e);
/* The connection is gone, or its worker is a pilot that leaves: advisors that run there are started
 * elsewhere. */
void advice_left(struct server *sv, const struct conn *c);

/* The sweep's record is still being read: call again in a later turn. */
enum { ADVICE_GOES_ON = -2 };
/* A user cancels the whole sweep: its advisor is asked no more.  Returns whether it was asked until
 * now (1, 0), ADVICE_GOES_ON, or -1. */
int64_t advice_cancel(struct server *sv, int64_t sweep, struct err *e);

#endif

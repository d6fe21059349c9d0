/* SPDX-License-Identifier: MIT */
/*
 * A subscription is a cursor: every change of a job has a number from one
 * counter, and what is pushed is "the jobs of that sweep whose number is larger".  So
 * nothing is queued for a slow reader and nothing is missed: a slow reader is behind, and
 * gets each job as it is by then.
 */
#ifndef LUDWIG_SERVER_QUEUE_SUBSCRIBE_H
#define LUDWIG_SERVER_QUEUE_SUBSCRIBE_H

#include "server/base/server.h"

struct conn;

enum {
    SUBSCRIBE_JOBS_MAX = 200, /* in one message */
    SUBSCRIBE_MAX = 64        /* by one connection */
};

/* In a turn: something about the sweep changes; its subscribers get the news after the commit. */
void subscribe_touch(struct server *sv, int64_t sweep);
/* After a commit: sends one message to each subscriber that is behind and has room. */
void subscribe_pump(struct server *sv);
/* A worker has registered, perhaps again: orders it to tell how far the followed logs grow. */
void subscribe_registered(struct server *sv, int64_t worker);
/* The connection is gone: drops its subscriptions. */
void subscribe_forget(struct conn *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * subscribe.h - pushes changes of jobs, and lengths of logs, to clients that subscribed
 *
 * A subscription is a cursor.  Every change of a job gets a number (its version) from one counter,
 * and a subscriber gets the jobs of its sweep whose version is above its cursor.  So nothing is
 * queued for a slow reader and nothing is missed: it gets each job as the job is by then.
 */
#ifndef LUDWIG_SERVER_QUEUE_SUBSCRIBE_H
#define LUDWIG_SERVER_QUEUE_SUBSCRIBE_H

#include "server/base/server.h"

struct conn;

enum {
    SUBSCRIBE_JOBS_MAX = 200, /* in one message */
    SUBSCRIBE_MAX = 64        /* subscriptions of one connection */
};

/* In a turn that changes the sweep: marks its subscribers as behind once the turn is committed. */
void subscribe_touch(struct server *sv, int64_t sweep);
/* After a commit: sends one message to each subscriber that is behind, if its channel has room. */
void subscribe_pump(struct server *sv);
/* A worker has registered, perhaps again: orders it to report the lengths of its followed logs. */
void subscribe_registered(struct server *sv, int64_t worker);
/* Drops all subscriptions of a connection that is gone. */
void subscribe_forget(struct conn *c);

#endif

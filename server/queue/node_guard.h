/* SPDX-License-Identifier: MIT */
/*
 * node_guard.h - nodes on which a user's jobs fail at once while such jobs run well elsewhere
 *
 * A node with a sick GPU or a broken library ends each job in a moment and takes the next one: it
 * eats the queue while good nodes are busy.  A user's jobs avoid a node (fit_avoid) when
 * NODE_GUARD_FAILURES configurations in a row failed there within NODE_GUARD_AT_ONCE_MS of their
 * start, of causes not seen on other nodes, while jobs of their sweeps run or ended well on another
 * node.  The jobs that failed there are queued again without losing a try.  After avoid_for of
 * ludwigd's configuration (1 minute), then twice that and so on up to an hour, the node gets one
 * job as a trial: if it fails at once it is queued again and the node is avoided on; the first job
 * that ends well ends the suspicion, as does the same failure on another node.
 *
 * Users are kept apart, as a program may fail on one node on purpose: one user's failures keep no
 * other user's jobs from a node.  The record is in memory: a ludwigd that starts anew learns it
 * again, at the cost of the same few failures.
 */
#ifndef LUDWIG_SERVER_QUEUE_NODE_GUARD_H
#define LUDWIG_SERVER_QUEUE_NODE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct server;

enum {
    NODE_GUARD_FAILURES = 3,
    NODE_GUARD_AT_ONCE_MS = 60 * 1000,
    NODE_GUARD_LAST_WAIT_MS = 3600 * 1000
};

struct node_guard *node_guard_create(struct server *sv);
void node_guard_destroy(struct node_guard *g); /* NULL is fine */
/* A user trusts the node again: forgets what failed there so far for that user, uid -1: for all
 * users. Returns whether the node was avoided. */
bool node_guard_trust(struct server *sv, const char *node, int64_t uid);

/* ---- the record of failures, for node_guard.c and its test; it needs no struct server ---- */

struct node_failure {
    const char *node;
    int64_t uid, sweep, config, job;
    int64_t attempt_no; /* which attempt of the job */
    int64_t at_ms;      /* when the attempt ended */
    const char *cause;  /* normalised: common/proto/failure.h */
    bool is_at_once;    /* within NODE_GUARD_AT_ONCE_MS of its start */
};

struct node_record;
struct node_record *node_record_create(void);
void node_record_destroy(struct node_record *r); /* NULL is fine */
/* Adds a failure, with copies of its texts; forgets the oldest one when there are too many. */
void node_record_failure(struct node_record *r, const struct node_failure *f);
/* Makes earlier failures of the user (uid -1: of all users) no evidence against the node any more:
 * a job ended well there, or a user trusts the node. */
void node_record_clear(struct node_record *r, const char *node, int64_t uid);
/* How many of the user's configurations are evidence against the node. */
int64_t node_record_evidence(const struct node_record *r, const char *node, int64_t uid);
/* The next failure after `after` (NULL: the first) that is evidence against the node, or NULL.  The
 * pointer lasts until the record is changed. */
const struct node_failure *node_record_next(const struct node_record *r, const char *node,
                                            int64_t uid, const struct node_failure *after);
bool node_record_is_empty(const struct node_record *r); /* no failure is evidence any more */

#endif

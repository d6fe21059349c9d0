/* SPDX-License-Identifier: MIT */
/*
 * subscription.h - changes of sweeps, pushed by the server
 *
 * A subscription survives a restart of the server: it goes on from the last cursor.
 */
#ifndef LUDWIG_CLIENT_SESSION_SUBSCRIPTION_H
#define LUDWIG_CLIENT_SESSION_SUBSCRIPTION_H

#include "client/session/rpc.h"

/* How long to wait for a server that is restarted or upgraded. */
enum { SUBSCRIPTION_PATIENCE_MS = 60 * 1000 };

struct subscription {
    struct rpc *rpc;
    struct msg_subscribe *requests; /* one for each sweep, with the last cursor seen */
    size_t n;
    int interrupt_fd; /* the rpc's, where it has one; else readable after Ctrl-C */
    bool owns_interrupt;
    int other_fd; /* EVENT_OTHER comes when this is readable; -1: none */
};

enum event {
    EVENT_ERROR = -1,
    EVENT_TIMEOUT,
    EVENT_CHANGES,  /* *changes is filled, until the next call */
    EVENT_OTHER,    /* other_fd is readable */
    EVENT_INTERRUPT /* the user pressed Ctrl-C */
};

/* The rpc belongs to the subscription until subscription_end.  The subscription handles Ctrl-C,
 * unless the rpc has an interrupt_fd already. */
int subscription_begin(struct subscription *s, struct rpc *rpc, const struct msg_subscribe *what,
                       struct err *e);
/* Subscribes to n sweeps at once; changes->sweep.sweep tells which one changed. */
int subscription_begin_all(struct subscription *s, struct rpc *rpc,
                           const struct msg_subscribe *what, size_t n, struct err *e);
/* Waits for the next event, at most timeout_ms; -1: without limit. */
enum event subscription_wait(struct subscription *s, int timeout_ms, struct msg_changes *changes,
                             struct err *e);
void subscription_end(struct subscription *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * measures.h - keeps values that running jobs reported until ludwigd has acknowledged them
 *
 * One message a second at most is sent for all jobs of the node; if it cannot hold all values, jobs
 * get equal shares of it.  Values that were not acknowledged when the connection broke are sent
 * again; ludwigd passes over what it has.  If the agent dies, its values are lost, and the runners
 * tell the next agent all of theirs from the beginning.
 */
#ifndef LUDWIG_WORKER_AGENT_MEASURES_H
#define LUDWIG_WORKER_AGENT_MEASURES_H

#include <uv.h>

#include "common/proto/proto.h"

enum {
    MEASURES_EVERY_MS = 1000,
    MEASURES_KEPT_MAX = 100 * 1000 /* then the job with most values is thinned out */
};

struct measures {
    uv_loop_t *loop;
    /* Sends a message; returns its seq, or -1. */
    int64_t (*send)(void *context, const struct msg_measured *m);
    void *context;
    struct measured *items;
    size_t n, capacity;
    size_t n_sent;       /* how many of the first items are on their way */
    int64_t seq;         /* number of the message on its way; 0: none */
    bool is_open;        /* there is a connection on which ludwigd takes them */
    uint64_t not_before; /* earliest time of the next message, by the loop's clock */
    uv_timer_t timer;
};

void measures_init(struct measures *m, uv_loop_t *loop,
                   int64_t (*send)(void *context, const struct msg_measured *m), void *context);
void measures_close(struct measures *m);

void measures_add(struct measures *m, const struct measured *values, size_t n);

/* To be called when a connection was made, and when it broke. */
void measures_connected(struct measures *m);
void measures_disconnected(struct measures *m);
/* Takes an answer, if it is to the last message.  well: ludwigd has the values; else they are sent
 * again. */
void measures_answered(struct measures *m, int64_t re, bool well);

#endif

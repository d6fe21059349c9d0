/* SPDX-License-Identifier: MIT */
/*
 * subscription.h - a subscription, and the log that it may follow: known to subscribe*.c alone
 */
#ifndef LUDWIG_SERVER_QUEUE_SUBSCRIPTION_H
#define LUDWIG_SERVER_QUEUE_SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/err.h"

struct server;

/* The log of a job's newest attempt.  The worker that has it says how long it is on the share as
 * long as anybody follows it; nothing of this is kept. */
struct followed {
    bool is_wanted;     /* by the subscription */
    struct token token; /* of the attempt; zero: the job has had none */
    int64_t worker;     /* that has it */
    bool is_live;       /* it may still grow */
    int64_t size_bytes; /* on the share, as far as it was told; 0: not yet */
    int64_t told_bytes; /* of that, to the subscriber */
};

struct subscription {
    struct subscription *next;
    int64_t conn;
    int64_t re; /* what its messages answer */
    int64_t sweep;
    int64_t job; /* only this one; 0: all */
    int64_t cursor;
    bool has_jobs;
    bool is_behind; /* something was committed, or told, since the last message */
    int last_state; /* of the sweep, as it was told */
    struct followed log;
};

/* Finds the job's newest attempt.  *before is what was followed until then, to be given to
 * followed_move once the subscription is among those of its connection. */
int followed_look(struct server *sv, struct subscription *sub, struct followed *before,
                  struct err *e);
/* Orders workers to tell, or to tell no more, as the change asks for. */
void followed_move(struct server *sv, struct subscription *sub, const struct followed *before);
/* It is about to go. */
void followed_end(struct server *sv, struct subscription *sub);

#endif

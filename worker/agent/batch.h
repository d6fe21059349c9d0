/* SPDX-License-Identifier: MIT */
/*
 * batch.h - attempts that share one process, and with it a slot and a runner
 *
 * Most have one member.  Those of several were handed out as a batch: they wait for
 * their data together, start together, and leave one by one as they end.  A batch
 * lasts until it has neither members nor a process.
 */
#ifndef LUDWIG_WORKER_AGENT_BATCH_H
#define LUDWIG_WORKER_AGENT_BATCH_H

#include "worker/agent/slots.h"
#include "worker/base/child_protocol.h"
#include "worker/base/ring.h"

struct attempt;
struct runner;
struct user;

struct batch {
    struct ring ring;      /* shared: among those in struct attempts */
    struct ring orphan;    /* among those whose processes are being killed */
    struct ring members;   /* struct attempt, in order of arrival */
    struct token token;    /* LUDWIG_ATTEMPT of its process: the batch's, or of the only member */
    struct user *user;     /* whose it is */
    bool is_shared;        /* handed out as a batch */
    bool is_held;          /* somebody walks through it: it lasts that long */
    bool is_given;         /* its process may live, with what the slot's lists name */
    bool is_asked;         /* shared: whether its process has left something is being asked */
    bool has_lost_runner;  /* its runner died: if it never began, starting it failed */
    bool is_reaping;       /* orphaned: its processes are being killed at this moment */
    struct runner *runner; /* who has it; NULL: nobody, or it is not known yet */
    struct slot_item slot;
};

/* token: of its process.  user stays the caller's. */
struct batch *batch_create(const struct token *token, bool is_shared, struct user *user,
                           int64_t number);
void batch_destroy(struct batch *b);

/* NULL: there is none any more. */
struct attempt *batch_first(const struct batch *b);
bool batch_is_over(const struct batch *b);

/* The attempt needs a process no more; the batch may be over by that. */
void batch_leave(struct attempt *a);

#endif

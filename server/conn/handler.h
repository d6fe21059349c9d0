/* SPDX-License-Identifier: MIT */
/*
 * handler.h - handlers of messages: what they are given, what they answer, and their list
 */
#ifndef LUDWIG_SERVER_CONN_HANDLER_H
#define LUDWIG_SERVER_CONN_HANDLER_H

#include "common/proto/proto.h"
#include "server/base/server.h"

struct conn;
struct request_task;

/* Given to handlers beside request and reply. */
struct ask {
    struct conn *conn;
    const struct envelope *envelope;
    struct arena *arena;         /* request and reply live here */
    int64_t progress[7];         /* zero at first; kept while the handler answers 1 */
    void *kept;                  /* the same, of a handler that needs more; NULL at first */
    struct request_task *errand; /* NULL: none was begun */
};

enum { HANDLER_GOES_ON = 1, HANDLER_WAITS = 2 };

/*
 * Returns 0 with *reply filled, -1 with e set.  Reply types are as in the table of messages;
 * a message whose reply is -1 gets reply == NULL.  1: there is more to do; what was written
 * stays, and the handler is called again in a later turn, with the same request and progress (no
 * other message of that connection is taken meanwhile).  2: the same, once its task is done.
 * Each call must check again the rows of its peer that it reads.
 */
typedef int (*handler_fn)(struct server *sv, struct ask *ask, const void *request, void *reply,
                          struct err *e);

/*
 * Slow work for a request is done on a thread, while only its asker waits:
 *
 *     struct look *l = request_task_context(ask);
 *
 *     if (l == NULL)
 *         return request_task_begin(sv, ask, look, look_free, make_look());
 *     ... what it found ...
 *     return request_task_end(ask, e);
 *
 * The handler is called again once it is done.  When the asker goes away meanwhile, what was
 * found is dropped.
 */

/* On the thread: 0, or -1 with e set. */
typedef int (*request_task_fn)(void *context, struct err *e);

/* The task's context, for its results; NULL: no task was begun. */
void *request_task_context(const struct ask *ask);
/* Takes context over; always returns HANDLER_WAITS. */
int request_task_begin(struct server *sv, struct ask *ask, request_task_fn run,
                       void (*free_context)(void *), void *context);
/* Returns what run returned. */
int request_task_end(const struct ask *ask, struct err *e);

/* For dispatch.c: drops a task whose asker is gone; NULL is fine. */
void request_task_drop(struct request_task *d);

#define HANDLER(name)                                                                       \
    int handle_##name(struct server *sv, struct ask *ask, const void *request, void *reply, \
                      struct err *e)

/* The handlers of all messages that ludwigd takes; dispatch.c's table has the same rows. */
#define X(constant, number, name, ...) HANDLER(name);
MESSAGES_TO_SERVER(X)
#undef X

#endif

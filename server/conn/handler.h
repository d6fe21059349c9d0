/* SPDX-License-Identifier: MIT */
/* handler.h - the handlers of messages to ludwigd: what they take and give, and their list */
#ifndef LUDWIG_SERVER_CONN_HANDLER_H
#define LUDWIG_SERVER_CONN_HANDLER_H

#include "common/proto/proto.h"
#include "server/base/server.h"

struct conn;
struct request_task;

/* What a handler is given beside request and reply. */
struct ask {
    struct conn *conn; /* the asker's */
    const struct envelope *envelope;
    struct arena *arena;         /* request and reply live here */
    int64_t progress[7];         /* the handler's own, kept between its calls; zero at first */
    void *kept;                  /* the same, for a handler that needs more; NULL at first */
    struct request_task *errand; /* its task on a thread, see below; NULL: none was begun */
};

enum { HANDLER_GOES_ON = 1, HANDLER_WAITS = 2 };

/* Handles a request: returns 0 with *reply filled, or -1 with e set.  The table of messages has the
 * reply's type; reply is NULL where that is -1.
 * HANDLER_GOES_ON: there is more to do.  What was written stays, and the handler is called again in
 * a later turn with the same request and progress; no other message of that connection is taken
 * meanwhile.  HANDLER_WAITS: the same, once the request's task is done.
 * As rows may change between the calls, each call must check again those that it reads. */
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
 * The handler is called again once look has returned.  If the asker goes away meanwhile, its
 * context is freed unread.
 */

/* Called on the thread: 0, or -1 with e set. */
typedef int (*request_task_fn)(void *context, struct err *e);

/* The context of the request's task, which has the results; NULL: no task was begun. */
void *request_task_context(const struct ask *ask);
/* Begins the task, and takes context over; always returns HANDLER_WAITS. */
int request_task_begin(struct server *sv, struct ask *ask, request_task_fn run,
                       void (*free_context)(void *), void *context);
/* Returns what run returned: 0, or -1 with e set. */
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

/* SPDX-License-Identifier: MIT */
/*
 * request_task.h - what a request needs that may take long: done on a thread, while only its asker waits
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
#ifndef LUDWIG_SERVER_CONN_REQUEST_TASK_H
#define LUDWIG_SERVER_CONN_REQUEST_TASK_H

#include "server/conn/handler.h"

/* On the thread: 0, or -1 with e set. */
typedef int (*request_task_fn)(void *context, struct err *e);

/* NULL before it was begun; its results may be read. */
void *request_task_context(const struct ask *ask);
/* Owns context.  Always HANDLER_WAITS. */
int request_task_begin(struct server *sv, struct ask *ask, request_task_fn run,
                       void (*free_context)(void *), void *context);
/* What run has answered. */
int request_task_end(const struct ask *ask, struct err *e);

/* For dispatch.c: nobody wants it any more; NULL is fine. */
void request_task_drop(struct request_task *d);

#endif

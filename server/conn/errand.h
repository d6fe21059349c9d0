/* SPDX-License-Identifier: MIT */
/*
 * errand.h - what a request needs that may take long: done on a thread, while only its asker waits
 *
 *     struct look *l = errand_context(ask);
 *
 *     if (l == NULL)
 *         return errand_begin(sv, ask, look, look_free, make_look());
 *     ... what it found ...
 *     return errand_end(ask, e);
 *
 * The handler is called again once it is done.  When the asker goes away meanwhile, what was
 * found is dropped.
 */
#ifndef LUDWIG_SERVER_CONN_ERRAND_H
#define LUDWIG_SERVER_CONN_ERRAND_H

#include "server/conn/handler.h"

/* On the thread: 0, or -1 with e set. */
typedef int (*errand_fn)(void *context, struct err *e);

/* NULL before it was begun; its results may be read. */
void *errand_context(const struct ask *ask);
/* Owns context.  Always HANDLER_WAITS. */
int errand_begin(struct server *sv, struct ask *ask, errand_fn run, void (*free_context)(void *),
                 void *context);
/* What run has answered. */
int errand_end(const struct ask *ask, struct err *e);

/* For dispatch.c: nobody wants it any more; NULL is fine. */
void errand_drop(struct errand *d);

#endif

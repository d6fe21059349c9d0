/* SPDX-License-Identifier: MIT */
/*
 * live.h - answers the requests of the live page: sweeps, changes of jobs, nodes, logs, actions
 *
 * The subscription has a connection of its own; the session's connection carries requests.  A sweep
 * is watched while a page requests it.  Each change of a job is kept as text with a growing number;
 * a page says up to which number it has all changes, and waits for later ones.  Gathering a sweep's
 * results takes long, so it is done again only after jobs have ended or, more seldom, while jobs
 * run, and takes at most a sixth of the time.  docs/internals/page.md describes requests and
 * replies.
 */
#ifndef LUDWIG_CLIENT_UI_LIVE_H
#define LUDWIG_CLIENT_UI_LIVE_H

#include "client/session/session.h"
#include "client/ui/http.h"

struct live;

/* chosen: the numbers of the n sweeps to list, which must stay valid; n 0: list the user's newest
 * sweeps.  interrupt_fd: the descriptor that Ctrl-C makes readable (interrupt.h); it ends waiting
 * for the server.  Returns NULL with e set on error. */
struct live *live_open(struct session *session, const int64_t *chosen, size_t n, int interrupt_fd,
                       struct err *e);
void live_close(struct live *l); /* NULL is fine */

/* Answers a request of the page; an http_answer_fn whose context is the struct live. */
void live_answer(void *live, const struct http_question *q, struct http_answer *a);

/* Returns the subscription's descriptor, to wait until it is readable; -1 if there is no
 * subscription.  It changes when live connects again: ask for it before each wait. */
int live_fd(const struct live *l);
/* Returns for how many milliseconds the caller may wait before it calls live_step again. */
int live_patience_ms(struct live *l);
/* Takes messages that have come, and connects again if the connection was lost.  Returns true, at
 * most every 200 ms, if there is news for waiting pages (http_wake). */
bool live_step(struct live *l);

#endif

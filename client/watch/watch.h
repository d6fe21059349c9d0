/* SPDX-License-Identifier: MIT */
/*
 * watch.h - shows sweeps on the whole screen of a terminal (`ludwig watch`)
 */
#ifndef LUDWIG_CLIENT_WATCH_WATCH_H
#define LUDWIG_CLIENT_WATCH_WATCH_H

#include "client/session/session.h"

/* Shows the sweeps (struct target) until the user ends the view; all: also shows sweeps that the
 * user submits later.  Returns an exit code: EXIT_INTERRUPTED after a signal, EXIT_FAILED if a
 * sweep has stopped and did not end well (sweep_wait_say_end), else EXIT_WELL.  Returns -1 with e
 * set on an error of the server, or if the terminal cannot be used.  Exits the program itself if
 * the feed cannot be ended (feed_end). */
int watch_screen(struct session *session, const struct list *targets, bool all, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* why.h - what keeps a sweep's jobs from running, as lines for users */
#ifndef LUDWIG_SERVER_HANDLE_WHY_H
#define LUDWIG_SERVER_HANDLE_WHY_H

#include "server/base/server.h"

/*
 * Sets *note to one line, in the arena, that says why no connected worker of the sweep's owner
 * could ever run its jobs; NULL: a worker could, or no worker is connected.  0, or -1 with e set.
 */
int why_nobody(struct server *sv, int64_t sweep, struct arena *a, const char **note, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * why.h - what keeps a sweep's jobs from running, as lines for people
 */
#ifndef LUDWIG_SERVER_HANDLE_WHY_H
#define LUDWIG_SERVER_HANDLE_WHY_H

#include "server/base/server.h"

/*
 * *note is NULL, or one line in the arena: no worker that is connected and works for the sweep's
 * owner could ever run its jobs, and why.  NULL as well while there is no such worker at all.
 */
int why_nobody(struct server *sv, int64_t sweep, struct arena *a, const char **note, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * other_environment.h - whether jobs were done before in another environment, and nothing else differs
 */
#ifndef LUDWIG_SERVER_QUEUE_OTHER_ENVIRONMENT_H
#define LUDWIG_SERVER_QUEUE_OTHER_ENVIRONMENT_H

#include "server/base/server.h"

/* Looks at the newest sweep that has done jobs of this one, which is being submitted.  *described: the
 * environment of those, in words and in the arena; NULL: more than that is different. */
int other_environment_find(struct server *sv, int64_t sweep, struct arena *a,
                           const char **described, struct err *e);

#endif

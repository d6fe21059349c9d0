/* SPDX-License-Identifier: MIT */
/*
 * other_environment.h - whether jobs were done before, with only their environment different
 */
#ifndef LUDWIG_SERVER_QUEUE_OTHER_ENVIRONMENT_H
#define LUDWIG_SERVER_QUEUE_OTHER_ENVIRONMENT_H

#include "server/base/server.h"

/* Compares a sweep that is being submitted with the newest sweep that has done some of its jobs.
 * *described: in the arena, that sweep's environment in words; NULL: more than that differs. */
int other_environment_find(struct server *sv, int64_t sweep, struct arena *a,
                           const char **described, struct err *e);

#endif

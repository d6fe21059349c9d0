/* SPDX-License-Identifier: MIT */
/*
 * datasets.h - the trees that sweeps name, as their source and data
 */
#ifndef LUDWIG_SERVER_QUEUE_DATASETS_H
#define LUDWIG_SERVER_QUEUE_DATASETS_H

#include "common/proto/jobspec.h"
#include "server/base/server.h"

/* Remembers that the sweep needs what its work names. */
int datasets_take(struct server *sv, int64_t project, int64_t sweep, const struct jobspec *w,
                  struct err *e);

#endif

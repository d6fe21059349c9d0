/* SPDX-License-Identifier: MIT */
/*
 * batch_chunk.h - the jobs of the process that this runs in, with batch: in the sweep
 */
#ifndef LUDWIG_CLIENT_CMD_BATCH_CHUNK_H
#define LUDWIG_CLIENT_CMD_BATCH_CHUNK_H

#include <stdbool.h>

#include "common/base/err.h"

/* Whether this runs in a job that works through a chunk ($LUDWIG_CHUNK). */
bool batch_chunk_is_here(void);
/* Whether job ("7.13") is one of the chunk's; an error names those that are. */
int batch_chunk_check(const char *job, struct err *e);

#endif

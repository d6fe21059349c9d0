/* SPDX-License-Identifier: MIT */
/*
 * cache_reuse.h - files that other trees in the cache have already
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_REUSE_H
#define LUDWIG_WORKER_STAGER_CACHE_REUSE_H

#include "worker/stager/cache_record.h"

struct earlier;

struct earlier *earlier_open(int cache_fd, const struct digest *but);
/* Links one with this content as dir_fd/name, if it is what it was when it was staged. */
bool earlier_link(struct earlier *l, const struct cache_row *row, int dir_fd, const char *name);
/* By linking them they got another ctime: that is taken down for the trees they are from.  NULL is
 * fine. */
void earlier_close(struct earlier *l);

#endif

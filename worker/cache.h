/* SPDX-License-Identifier: MIT */
/*
 * cache.h - staged trees on scratch, each once, read-only, named by digest
 */
#ifndef LUDWIG_WORKER_CACHE_H
#define LUDWIG_WORKER_CACHE_H

#include "common/digest.h"
#include "worker/share.h"

bool cache_has(int cache_fd, const struct digest *digest);

/* Copies a tree of the share into the cache; a broken-off copy is never seen under the digest. */
int cache_add(int cache_fd, const struct digest *digest, const struct share_dir *from,
              const char *name, struct err *e);

#endif

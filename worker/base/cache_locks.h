/* SPDX-License-Identifier: MIT */
/*
 * cache_locks.h - locks on the trees of a cache that several stagers share
 *
 * The workers and pilots of one user on one machine share one cache, and each has its own stager.
 * The stagers keep out of each other's way by locks on single bytes of cache/.locks, two for each
 * tree, which the kernel frees when a process dies.  No function here waits for a lock.
 *
 * Where the file system has no locks, or l is NULL, every lock is granted.
 */
#ifndef LUDWIG_WORKER_BASE_CACHE_LOCKS_H
#define LUDWIG_WORKER_BASE_CACHE_LOCKS_H

#include <stdbool.h>

#include "common/base/digest.h"

struct cache_locks {
    int use_fd;  /* .locks, opened for locks of a stager that uses a tree, */
    int work_fd; /* and again for locks of one that brings or removes it, as it may do both */
};

/* Returns false if this file system has no locks. */
bool cache_locks_open(struct cache_locks *l, int cache_fd);
void cache_locks_close(struct cache_locks *l);

/* Keeps other stagers from removing the tree; false: another stager is removing it now. */
bool cache_lock_use(const struct cache_locks *l, const struct digest *tree);
/* Keeps other stagers from using the tree until cache_unlock_use; false: one uses it. */
bool cache_lock_use_alone(const struct cache_locks *l, const struct digest *tree);
void cache_unlock_use(const struct cache_locks *l, const struct digest *tree);

/* Keeps other stagers from bringing or removing the tree; false: one of them does so now. */
bool cache_lock_work(const struct cache_locks *l, const struct digest *tree);
/* As cache_lock_work, but also false if any stager, this one included, uses the tree. */
bool cache_lock_removal(const struct cache_locks *l, const struct digest *tree);
/* Ends cache_lock_work or cache_lock_removal. */
void cache_unlock_work(const struct cache_locks *l, const struct digest *tree);

#endif

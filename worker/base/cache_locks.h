/* SPDX-License-Identifier: MIT */
/*
 * cache_locks.h - locks on the trees of a cache that several stagers share
 *
 * The workers and pilots of one user on one machine have one cache.  Each has a stager of its own;
 * they keep out of each other's way by locks on single bytes of cache/.locks, two for each tree,
 * which the kernel takes from a process that dies.  Nothing here waits.
 *
 * Where the file system knows no locks, or l is NULL, every lock is given.
 */
#ifndef LUDWIG_WORKER_BASE_CACHE_LOCKS_H
#define LUDWIG_WORKER_BASE_CACHE_LOCKS_H

#include <stdbool.h>

#include "common/base/digest.h"

struct cache_locks {
    int use_fd;  /* locks of stagers that use a tree, */
    int work_fd; /* and of those that bring or remove one: two files, as one stager may do both */
};

/* false: there are no locks on this file system. */
bool cache_locks_open(struct cache_locks *l, int cache_fd);
void cache_locks_close(struct cache_locks *l);

/* Keeps other stagers from removing the tree; false: one is removing it at this moment. */
bool cache_lock_use(const struct cache_locks *l, const struct digest *tree);
/* Whether no other stager uses the tree; none begins to until it is unlocked. */
bool cache_lock_use_alone(const struct cache_locks *l, const struct digest *tree);
void cache_unlock_use(const struct cache_locks *l, const struct digest *tree);

/* Keeps other stagers from bringing or removing the tree; false: one of them does. */
bool cache_lock_work(const struct cache_locks *l, const struct digest *tree);
/* The same, if no stager uses the tree, ourselves included. */
bool cache_lock_removal(const struct cache_locks *l, const struct digest *tree);
/* Ends cache_lock_work or cache_lock_removal. */
void cache_unlock_work(const struct cache_locks *l, const struct digest *tree);

#endif

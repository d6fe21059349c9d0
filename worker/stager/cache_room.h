/* SPDX-License-Identifier: MIT */
/*
 * cache_room.h - what the cache holds, and which of it goes when there is no room
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_ROOM_H
#define LUDWIG_WORKER_STAGER_CACHE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/err.h"
#include "worker/base/cache_locks.h"
#include "worker/base/child_protocol.h"

struct cache_tree {
    struct digest tree;
    int64_t files, bytes;
    int64_t last_use_ms;
    bool is_whole;
};
/* All trees that are whole, and those that are not (files and bytes 0); the caller frees it. */
struct cache_tree *cache_list(int cache_fd, size_t *n);

/* Fills in all but the tree's digest; whether it is whole. */
bool cache_look(int cache_fd, struct cache_tree *t);

/* It was used a moment ago. */
void cache_touch(int cache_fd, const struct digest *tree);
/* All there is of it. */
int cache_remove(int cache_fd, const struct digest *tree, struct err *e);

/* Removes what a process that was killed left half removed. */
void cache_sweep(int cache_fd, const struct cache_locks *locks);

/* A tree that is to be brought. */
struct cache_need {
    struct digest tree;
    uint64_t tree_bytes;   /* of all of it */
    uint64_t bytes, files; /* of which are missing */
    bool was_full;         /* whatever the file system says (quotas): something has to go */
};
struct cache {
    int fd;
    const struct cache_locks *locks; /* NULL: no other stager shares the cache */
    struct settings settings;
    bool is_patient; /* what is staged is not urgent: its threads leave processors to jobs */
    /* Whether a tree may be removed to make room: none that a job uses, or is about to.  From then on
     * nobody may be given it. */
    bool (*let_go)(void *context, const struct digest *tree);
    /* Whether staging is to be given up, as no job waits for the tree. */
    bool (*is_over)(void *context);
    void *context;
};

/* Removes what was not used for longest and is not in use, until cache_size and the free space allow
 * it.  ERR_NO_SPACE: they do not. */
int cache_make_room(struct cache *c, const struct cache_need *need, struct err *e);

#endif

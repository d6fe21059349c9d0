/* SPDX-License-Identifier: MIT */
/*
 * cache.h - staged trees on scratch, each once, read-only, named by what is in them
 *
 *   cache/DIGEST             a tree that is whole
 *   cache/.DIGEST.record     what it was when it was staged, see cache_record.h
 *   cache/.DIGEST.new        a tree on its way; after a crash it is gone on with
 *
 * Stagers that share the cache have locks; else one process at a time stages.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_H
#define LUDWIG_WORKER_STAGER_CACHE_H

#include "common/proto/jobspec.h"
#include "worker/stager/cache_room.h"
#include "worker/stager/pack_source.h"

/* With the lock for working at its tree: brings the dataset, or what is missing or wrong in it.  ERR_NO_SPACE: later, perhaps; ERR_BUSY: somebody
 * changes it at this moment; ERR_NOT_FOUND, ERR_PROTOCOL: it is not on the share, or damaged there. */
int cache_stage(struct cache *c, const struct pack_source_at *at, const struct dataset *set,
                struct err *e);

enum cache_state { CACHE_ABSENT, CACHE_DAMAGED, CACHE_WHOLE };

/* A tree that jobs are to use. */
struct cache_use {
    struct digest tree;
    const char *cache_dir_path;
    int guard_fd; /* is told what they change in it, see check_watch; -1: there is none */
    bool
        is_doubted; /* it may have been changed, and every file is to be looked at; so it is after a
                        restart of the machine, and when jobs were at it until the worker died */
    bool is_used_by_others; /* when we close it */
    bool is_guarded;        /* out */
};
/* Looks whether it is what it was when it was staged. */
enum cache_state cache_open_tree(int cache_fd, struct cache_use *use);
/* No job uses it any more. */
void cache_close_tree(int cache_fd, const struct cache_use *use);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cache.h - staged trees on scratch, each once, read-only, named by their content
 *
 *   cache/DIGEST             a tree that is whole
 *   cache/.DIGEST.record     what it was when it was staged, see cache_record.h
 *   cache/.DIGEST.new        a tree on its way; after a crash staging goes on with it
 *
 * Stagers that share the cache have locks; else one process at a time stages.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_H
#define LUDWIG_WORKER_STAGER_CACHE_H

#include "common/proto/jobspec.h"
#include "worker/base/cache_locks.h"
#include "worker/base/child_protocol.h"
#include "worker/stager/pack_source.h"

/* ---- trees in the cache, and their removal to make room: cache_room.c ---- */

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

/* Notes that the tree was used a moment ago. */
void cache_touch(int cache_fd, const struct digest *tree);
/* Removes all files of a tree. */
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
    bool is_patient; /* staging is not urgent: its threads leave processors to jobs */
    /* Whether a tree may be removed to make room: none that a job uses, or is about to.  From then
     * on no job may be given it. */
    bool (*let_go)(void *context, const struct digest *tree);
    /* Whether staging is to be given up, as no job waits for the tree. */
    bool (*is_over)(void *context);
    void *context;
};

/* Removes trees that are not in use, the longest unused first, until cache_size and the free space
 * allow it.  ERR_NO_SPACE: they do not. */
int cache_make_room(struct cache *c, const struct cache_need *need, struct err *e);

/* ---- a tree: cache.c ---- */

/* With the lock for working at its tree: brings the dataset, or the files that are missing or wrong
 * in it.  ERR_NO_SPACE: later, perhaps; ERR_BUSY: a process changes it at this moment;
 * ERR_NOT_FOUND, ERR_PROTOCOL: the dataset is not on the share, or damaged there. */
int cache_stage(struct cache *c, const struct pack_source_at *at, const struct dataset *set,
                struct err *e);

enum cache_state { CACHE_ABSENT, CACHE_DAMAGED, CACHE_WHOLE };

/* A tree that jobs are to use. */
struct cache_use {
    struct digest tree;
    const char *cache_dir_path;
    int guard_fd; /* is told of changes in the tree, see record_watch; -1: there is none */
    bool
        is_doubted; /* it may have been changed, and every file is to be looked at; so it is after a
                        restart of the machine, and when jobs were at it until the worker died */
    bool is_used_by_others; /* other stagers use the tree at the time we close it */
    bool is_guarded;        /* out */
};
/* Looks whether the tree is what it was when it was staged. */
enum cache_state cache_open_tree(int cache_fd, struct cache_use *use);
/* No job uses the tree any more. */
void cache_close_tree(int cache_fd, const struct cache_use *use);

#endif

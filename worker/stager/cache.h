/* SPDX-License-Identifier: MIT */
/*
 * cache.h - keeps staged trees on scratch, each once, read-only, named by their content
 *
 *   cache/DIGEST             a tree that is whole
 *   cache/.DIGEST.record     what the tree was when it was staged, see cache_record.h
 *   cache/.DIGEST.new        a tree on its way; after a crash staging goes on with it
 *
 * Stagers that share a cache have locks (cache_locks.h); without locks only one process may stage.
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
/* Returns all trees, also those that are not whole (files and bytes 0); the caller frees them. */
struct cache_tree *cache_list(int cache_fd, size_t *n);

/* Fills in t, whose digest the caller has set; returns whether the tree is whole. */
bool cache_look(int cache_fd, struct cache_tree *t);

/* Notes that the tree was used a moment ago. */
void cache_touch(int cache_fd, const struct digest *tree);
/* Removes a tree, whole or not, and all files beside it. */
int cache_remove(int cache_fd, const struct digest *tree, struct err *e);

/* Removes what killed processes left half removed or half written, but no tree on its way. */
void cache_sweep(int cache_fd, const struct cache_locks *locks);

/* The room that a tree needs that is to be brought. */
struct cache_need {
    struct digest tree;
    uint64_t tree_bytes;   /* of the whole tree */
    uint64_t bytes, files; /* of the tree's files that are missing, and how many these are */
    bool was_full;         /* remove something, whatever the file system says (quotas) */
};
struct cache {
    int fd;
    const struct cache_locks *locks; /* NULL: no other stager shares the cache */
    struct settings settings;
    bool is_patient; /* staging is not urgent: its threads leave processors to jobs */
    /* Returns whether a tree may be removed to make room: no job uses it, or is about to.  If it
     * may, no job may be given it from then on. */
    bool (*let_go)(void *context, const struct digest *tree);
    /* Returns whether to give up staging, as no job waits for the tree; NULL: never. */
    bool (*is_over)(void *context);
    void *context;
};

/* Removes trees that are not in use, the longest unused first, until cache_size and the free space
 * allow what need asks for.  ERR_NO_SPACE: they do not. */
int cache_make_room(struct cache *c, const struct cache_need *need, struct err *e);

/* ---- a tree: cache.c ---- */

/* Brings the dataset, or those of its files that are missing or wrong; the caller has the lock for
 * work at its tree.  ERR_NO_SPACE: there may be room later; ERR_BUSY: a process changes the tree
 * now; ERR_NOT_FOUND, ERR_PROTOCOL: the dataset is not on the share, or damaged there. */
int cache_stage(struct cache *c, const struct pack_source_at *at, const struct dataset *set,
                struct err *e);

enum cache_state { CACHE_ABSENT, CACHE_DAMAGED, CACHE_WHOLE };

/* A tree that jobs are to use. */
struct cache_use {
    struct digest tree;
    const char *cache_dir_path;
    int guard_fd; /* inotify, which tells of changes in the tree, see record_watch; -1: none */
    bool
        is_doubted; /* a file may have been changed: look at every file, as it is also done if a job
                        used the tree until the worker died */
    bool is_used_by_others; /* other stagers use the tree at the time we close it */
    bool is_guarded;        /* out: guard_fd tells of changes from now on */
};
/* Looks whether the tree is what it was when staged in this boot, and notes that jobs use it. */
enum cache_state cache_open_tree(int cache_fd, struct cache_use *use);
/* Notes that no job uses the tree any more. */
void cache_close_tree(int cache_fd, const struct cache_use *use);

#endif

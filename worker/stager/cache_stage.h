/* SPDX-License-Identifier: MIT */
/*
 * cache_stage.h - a tree becomes what its dataset says, whatever is there already
 *
 * A tree on its way, one that a crash left half made and one that is whole but for some files are
 * all the same: what is whole stays, the rest is brought.  This is what cache.c and cache_fill.c,
 * which brings the files, have in common.
 *
 * Each thread takes a part at a time; what it holds goes to the files that want it.  A file of one
 * piece is made with its final mode, so it is whole if its size is right; a larger one gets its mode
 * when all of its pieces are there.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_STAGE_H
#define LUDWIG_WORKER_STAGER_CACHE_STAGE_H

#include "worker/base/dir_walk.h"
#include "worker/stager/cache_plan.h"
#include "worker/stager/cache_room.h"
#include "worker/stager/pack_source.h"

/* What of that which is there counts as whole. */
enum stage_trust {
    TRUST_NOTHING, /* nothing is there */
    TRUST_MODES,   /* what was made in this boot of the machine is whole if its mode says so */
    TRUST_CONTENT,
    TRUST_RECORD /* what its record says, which was looked through */
};

struct stage {
    struct cache *cache;
    struct pack_source_at packs;
    struct plan plan;
    enum stage_trust trust;
    char name[CACHE_NAME_BYTES]; /* of the tree that is worked on; its folders are made first */
    bool is_live;                /* it is the tree itself, and jobs may be at it: files are made */
    int fix_fd;                  /* here then, and renamed */
    bool is_shared;              /* some of its files are other trees', too */
    struct dir_walk walk, other;
};

/* Brings all files that are wanted.  What came before a failure stays, and is found whole. */
int stage_fill(struct stage *s, struct err *e);

/* Of a live tree: what was made for entry i takes its place. */
int stage_replace(const struct stage *s, struct dir_walk *d, size_t i, struct err *e);
mode_t stage_mode_of(const struct stage *s, size_t i);
/* What we made was taken away: not for good, as ERR_NOT_FOUND would say of the share. -1. */
int stage_was_disturbed(struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cache_stage.h - a tree becomes what its dataset says, whatever is there already
 *
 * A tree on its way, one that a crash left half made and one that is whole but for some files are
 * all the same: what is whole stays, the rest is brought.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_STAGE_H
#define LUDWIG_WORKER_STAGER_CACHE_STAGE_H

#include "worker/base/dir_walk.h"
#include "worker/stager/cache_check.h"
#include "worker/stager/cache_fill.h"
#include "worker/stager/cache_reuse.h"
#include "worker/stager/cache_room.h"

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
    char name[CACHE_NAME_BYTES]; /* of what is worked on */
    bool is_live;                /* that is the tree itself, and jobs may be at it */
    int fix_fd;                  /* is_live */
    bool is_shared;              /* some of its files are other trees', too */
    struct dir_walk descent, other;
};

/* What is wanted is known after this: all folders are there. */
int stage_survey(struct stage *s, struct err *e);
/* Hard links, then symlinks. */
int stage_links(struct stage *s, struct err *e);
/* What all of it is now. */
int stage_take_rows(struct stage *s, struct err *e);

#endif

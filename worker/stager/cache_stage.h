/* SPDX-License-Identifier: MIT */
/*
 * cache_stage.h - a tree becomes what its dataset says, whatever is there already
 *
 * A tree on its way, one that a crash left half made and one that is whole but for some files are
 * all the same: what is whole stays, the rest is brought.  This is what cache.c and cache_fill.c,
 * which brings the files, have in common.
 *
 * Each thread takes a part at a time; its pieces go to the files that want them.  A file of one
 * piece is made with its final mode, so it is whole if its size is right; a larger one gets its
 * mode when all of its pieces are there.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_STAGE_H
#define LUDWIG_WORKER_STAGER_CACHE_STAGE_H

#include <stdatomic.h>

#include "common/pack/pack_read.h"
#include "common/proto/jobspec.h"
#include "worker/base/dir_walk.h"
#include "worker/stager/cache_record.h"
#include "worker/stager/cache.h"
#include "worker/stager/pack_source.h"

/* ---- the entries of its dataset, and which of them are still wanted ---- */

/* The state of each row's entry. */
struct plan_entry {
    size_t first_run;
    uint32_t n_runs;
    uint64_t target_at; /* of links, in targets */
    atomic_uint left;   /* pieces that are not written yet */
    bool is_wanted;     /* the entry must be brought */
    bool has_stat;      /* its row says what it is now */
};

struct plan {
    struct pack_reader *reader;
    struct dataset set;
    struct cache_row *rows;
    struct plan_entry *entries;
    size_t n, rows_capacity, entries_capacity;
    struct pack_run *runs;
    size_t n_runs, runs_capacity;
    struct buf names, targets;
};

/* Reads all of the dataset's entries, and checks them.  The source must live as long. */
int plan_open(struct plan *p, const struct pack_source *source, const struct dataset *set,
              struct err *e);
void plan_close(struct plan *p);

const char *plan_path(const struct plan *p, size_t i);
const char *plan_target(const struct plan *p, size_t i);
bool plan_is_file(const struct plan *p, size_t i); /* one with a content of its own */
/* The entry with this path; SIZE_MAX: none. */
size_t plan_find(const struct plan *p, const char *path);
/* How much room the wanted entries take, in whole blocks; *n_files: how many they are. */
uint64_t plan_wanted_bytes(const struct plan *p, uint64_t *n_files);

/* ---- staging it ---- */

/* Which of the files that are there count as whole. */
enum stage_trust {
    TRUST_NOTHING, /* nothing is there */
    TRUST_MODES,   /* files made in this boot of the machine whose mode says that they are whole */
    TRUST_CONTENT,
    TRUST_RECORD /* files that the record names, which were looked through */
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

/* Brings all files that are wanted.  Files that came before a failure stay, and are found whole. */
int stage_fill(struct stage *s, struct err *e);

/* Gives Python's sources the times that what is compiled of them names, once all is there. */
int stage_date_sources(struct stage *s, struct err *e);

/* In a live tree: the file that was made for entry i takes its place. */
int stage_replace(const struct stage *s, struct dir_walk *d, size_t i, struct err *e);
mode_t stage_mode_of(const struct stage *s, size_t i);
/* Our files were taken away: sets an error that passes, unlike the share's ERR_NOT_FOUND.  -1. */
int stage_was_disturbed(struct err *e);

#endif

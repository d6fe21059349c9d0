/* SPDX-License-Identifier: MIT */
/*
 * cache_stage.h - makes a tree what its dataset says, whatever of it is there already
 *
 * A new tree, one that a crash left half made and one that is whole but for some files are treated
 * alike: files that are whole stay, the others are brought.  This is what cache.c and cache_fill.c,
 * which brings the files, have in common.
 *
 * Each thread takes one part of a pack at a time, whose pieces go to the files that need them.  A
 * file of one piece is made with its final mode, so it is whole if its size is right; a larger one
 * gets its mode when all of its pieces are there.
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

/* ---- the entries of the dataset, and which of them are still wanted ---- */

/* The state of each row's entry. */
struct plan_entry {
    size_t first_run;
    uint32_t n_runs;
    uint64_t target_at; /* of links, in targets */
    atomic_uint left;   /* pieces that are not written yet */
    bool is_wanted;     /* the entry must be brought */
    bool has_stat;      /* the row has the entry's present inode and times */
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

/* Reads all of the dataset's entries, and checks them.  The source must outlive the plan. */
int plan_open(struct plan *p, const struct pack_source *source, const struct dataset *set,
              struct err *e);
void plan_close(struct plan *p);

const char *plan_path(const struct plan *p, size_t i);
const char *plan_target(const struct plan *p, size_t i);
bool plan_is_file(const struct plan *p, size_t i); /* with a content of its own: no hard link */
/* Returns the entry with this path; SIZE_MAX: there is none. */
size_t plan_find(const struct plan *p, const char *path);
/* Returns how many bytes the wanted entries take, in whole blocks; *n_files: how many inodes. */
uint64_t plan_wanted_bytes(const struct plan *p, uint64_t *n_files);

/* ---- staging the dataset ---- */

/* Which of the files that are there already count as whole. */
enum stage_trust {
    TRUST_NOTHING, /* nothing is there */
    TRUST_MODES,   /* files made in this boot of the machine whose mode says that they are whole */
    TRUST_CONTENT,
    TRUST_RECORD /* files that the record has, but for those found damaged */
};

struct stage {
    struct cache *cache;
    struct pack_source_at packs;
    struct plan plan;
    enum stage_trust trust;
    char name[CACHE_NAME_BYTES]; /* of the tree that is worked on; its folders are made first */
    bool is_live;                /* it has its final name, and jobs may use it: files are made */
    int fix_fd;                  /* in this folder then, and renamed into the tree */
    bool is_shared;              /* some of the tree's files are other trees', too */
    struct dir_walk walk, other;
};

/* Brings all files that are wanted.  Files that came before a failure stay, and count as whole. */
int stage_fill(struct stage *s, struct err *e);

/* Gives Python sources the times that their compiled modules name, once all files are there. */
int stage_date_sources(struct stage *s, struct err *e);

/* In a live tree: moves the file that was made for entry i from fix_fd to its place. */
int stage_replace(const struct stage *s, struct dir_walk *d, size_t i, struct err *e);
mode_t stage_mode_of(const struct stage *s, size_t i);
/* Returns -1.  ERR_NOT_FOUND, of a file on scratch that others took away, becomes ERR_BUSY, which
 * passes, unlike ERR_NOT_FOUND of the share. */
int stage_was_disturbed(struct err *e);

#endif

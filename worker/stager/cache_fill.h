/* SPDX-License-Identifier: MIT */
/*
 * cache_fill.h - the files of a tree, straight from its packs, by a thread per core
 *
 * Each thread takes a part at a time; what it holds goes to the files that want it.  A file of one
 * piece is made with its final mode, so it is whole if its size is right; a larger one gets its mode
 * when all of its pieces are there.
 */
#ifndef LUDWIG_WORKER_STAGER_CACHE_FILL_H
#define LUDWIG_WORKER_STAGER_CACHE_FILL_H

#include "worker/stager/cache_plan.h"
#include "worker/stager/pack_source.h"

enum { CACHE_FILE = 0444, CACHE_PROGRAM = 0555, CACHE_UNFINISHED = 0600, CACHE_FOLDER = 0755 };

struct fill {
    struct plan *plan;
    struct pack_source_at packs;
    int cache_fd;
    const char *tree; /* its name there; its folders have been made */
    int fix_fd;       /* jobs may be at it: files are made here, and renamed; -1: they are not */
    bool is_patient;  /* its threads leave processors to others */
    bool (*is_over)(void *context); /* to be given up; NULL: it is not */
    void *context;
};

/* What we made was taken away: not for good, as ERR_NOT_FOUND would say of the share. -1. */
int fill_was_disturbed(struct err *e);
mode_t fill_mode_of(const struct plan *p, size_t i);
/* Brings all files that are wanted.  What came before a failure stays, and is found whole. */
int fill_files(const struct fill *f, struct err *e);
unsigned fill_threads(void); /* as many as there are processors for us */

#endif

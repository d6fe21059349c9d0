/* SPDX-License-Identifier: MIT */
/*
 * jobdir_pool.h - folders of earlier attempts, used again
 *
 * Making and removing files is what a short job costs most, above all where ext4 has no
 * journal: before it gives out an inode it passes over every one that was freed in the last
 * minutes.  So a folder that is done with is kept for a while, emptied but for the files
 * each attempt has, and the next attempt takes it by a rename and overwrites them.
 *
 *   run/ ─▶ ended/ ─▶ published/ ─discard─▶ spare/ ─next attempt─▶ run/
 *
 * The publisher gives, the runners take, and nothing is left when there is nothing to do.
 */
#ifndef LUDWIG_WORKER_BASE_JOBDIR_POOL_H
#define LUDWIG_WORKER_BASE_JOBDIR_POOL_H

#include "worker/base/scratch.h"

/* Of the folders that a job gets. */
enum { JOB_DIR_MODE = 0750 };

/* Whether it is a folder with nothing in it, as a job gets it. */
bool jobdir_pool_is_fresh(int dir_fd, const char *path);

/* What a runner remembers to be there. */
struct spares {
    char **names;
    size_t n;
};

/* Makes a spare folder the caller's own, as spare/AS: true, or false when there is none. AS begins
 * with a dot. */
bool jobdir_pool_take(struct spares *p, const struct scratch *s, const char *as);
void spares_free(struct spares *p);

/* Keeps published/NAME, with log/NAME in it when that is empty; *count is how many there are
 * at most.  false: it cannot be kept and is where it was. */
bool jobdir_pool_give(const struct scratch *s, const char *name, size_t *count);
/* Removes all but those that runners have taken: these belong to their attempts, and go with them
 * (scratch_discard). */
void jobdir_pool_clear(const struct scratch *s, size_t *count);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * diskwatch.h - watches how much a job's files take on scratch
 *
 * The kernel cannot limit what one job writes on a file system that all share, so the sizes of the
 * job's folder and log are added up every second, more rarely where that takes long.  Used blocks
 * count: holes count nothing, a file with two names counts twice, and a file without a name that a
 * process of the job has open counts once.
 *
 * Folders may hold millions of files, and the runner has more to do: a look takes some thousand
 * entries at a time.
 *
 * A batch has a folder for its process and one for each of its jobs.  The first and the largest of
 * the others count together, as the limit is that of each job.
 */
#ifndef LUDWIG_WORKER_RUNNER_DISKWATCH_H
#define LUDWIG_WORKER_RUNNER_DISKWATCH_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "worker/base/scratch.h"

enum { DISKWATCH_DEPTH_MAX = 100 /* deeper files do not count */ };

struct diskwatch {
    int64_t limit_bytes; /* 0: the job is not watched */
    int64_t used_bytes;  /* found by the last finished look; -1: there was none */
    unsigned n_looks;    /* how many looks were finished */
    int64_t next_ms;     /* monotonic: when to look again */
    /* Returns the name in run/ of the i-th job of a batch that has not ended, NULL behind the last.
     * member NULL: the process has no other folders. */
    const char *(*member)(void *context, size_t i);
    void *context;
    /* The look that is under way, if began_ms is not 0. */
    int64_t began_ms;
    size_t n_members; /* how many members were looked at */
    int64_t shared_bytes, member_bytes, largest_bytes;
    DIR *open[DISKWATCH_DEPTH_MAX]; /* the folder at hand, and those above it */
    size_t depth;
    dev_t device;
};

void diskwatch_begin(struct diskwatch *w, int64_t limit_bytes);
/* Gives up the look that is under way. */
void diskwatch_end(struct diskwatch *w);
/* For poll(2), -1: never. */
int diskwatch_wait_ms(const struct diskwatch *w);
/* Goes on with the look if it is due.  Returns how many bytes the attempt in run/HEX takes if that
 * is more than the limit; else 0. */
int64_t diskwatch_look(struct diskwatch *w, const struct scratch *s, const char *hex);

#endif

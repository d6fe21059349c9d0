/* SPDX-License-Identifier: MIT */
/*
 * scratch.h - the worker's own folder: attempts move from run/ to ended/ to published/
 *
 * Nothing here is ever synced: what a power failure takes away is run again.
 */
#ifndef LUDWIG_WORKER_BASE_SCRATCH_H
#define LUDWIG_WORKER_BASE_SCRATCH_H

#include <sys/types.h>

#include "worker/base/child_protocol.h"

/* beside the names in child_protocol.h */
#define JOB_TMP       "tmp"     /* TMPDIR */
#define JOB_RENAMED   "renamed" /* what had to be renamed for other systems, see saved.h */
#define JOB_LOG       "log"     /* an empty log, for the next attempt, see jobdir_pool.h */
#define SCRATCH_SPARE "spare"   /* folders that wait for the next attempt */

struct scratch {
    char *path;
    int fd; /* -1: closed */
    int run_fd, ended_fd, published_fd, log_fd, cache_fd, spare_fd, checkpoints_fd;
};

/* Makes the folders that are missing. */
int scratch_open(struct scratch *s, const char *path, struct err *e);
/* Opens the folders that are there, and makes none: a missing one has the descriptor -1. */
void scratch_look(struct scratch *s, const char *path);
void scratch_close(struct scratch *s);
/* Opens it anew, after somebody removed it under our feet. */
int scratch_reopen(struct scratch *s, struct err *e);

/* Writes a file anew, in place of what an earlier attempt left under this name. */
int scratch_put(int dir_fd, const char *path, const void *bytes, size_t n, mode_t mode,
                struct err *e);

/* A struct as a file of msgpack; path is relative to dir_fd. */
int scratch_write(int dir_fd, const char *path, const struct schema *schema, const void *from,
                  struct err *e);
/* The same, never seen half-written. */
int scratch_replace(int dir_fd, const char *path, const struct schema *schema, const void *from,
                    struct err *e);
/* A plain file only: what a job put there in its place is refused, and nobody waits for it. */
int scratch_read(int dir_fd, const char *path, const struct schema *schema, struct arena *a,
                 void *to, struct err *e);

/* Removes all there is of an attempt, and as much as it can. A folder in published/ that lost its
 * report is being removed already; scratch_sweep goes on with those. */
int scratch_discard(const struct scratch *s, const struct token *token, struct err *e);
/* The checkpoint that was brought for it, if it has not taken it. */
int scratch_discard_checkpoint(const struct scratch *s, const struct token *token, struct err *e);
void scratch_sweep(const struct scratch *s);

#endif

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
#define JOB_RENAMED   "renamed" /* list of files renamed for other systems, see saved.h */
#define JOB_LOG       "log"     /* an empty log, for the next attempt */
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
/* Opens it anew, after it was removed under our feet. */
int scratch_reopen(struct scratch *s, struct err *e);

/* ERR_NO_SPACE: the disk of the folder at path has no room for another attempt, with how much is
 * free.  What cannot be found out counts as room. */
int scratch_check_room(const char *path, struct err *e);

/* Writes a file anew, in place of what an earlier attempt left under this name. */
int scratch_put(int dir_fd, const char *path, const void *bytes, size_t n, mode_t mode,
                struct err *e);

/* A struct as a file of msgpack; path is relative to dir_fd. */
int scratch_write(int dir_fd, const char *path, const struct schema *schema, const void *from,
                  struct err *e);
/* The same, never seen half-written. */
int scratch_replace(int dir_fd, const char *path, const struct schema *schema, const void *from,
                    struct err *e);
/* Reads a plain file only: what else a job put in its place is refused, without waiting. */
int scratch_read(int dir_fd, const char *path, const struct schema *schema, struct arena *a,
                 void *to, struct err *e);

/* Removes as much of an attempt as it can.  A folder in published/ that lost its report is being
 * removed already; scratch_sweep goes on with those. */
int scratch_discard(const struct scratch *s, const struct token *token, struct err *e);
/* Removes the checkpoint that was brought for the attempt, if the attempt has not taken it. */
int scratch_discard_checkpoint(const struct scratch *s, const struct token *token, struct err *e);
void scratch_sweep(const struct scratch *s);

/*
 * Folders of earlier attempts, used again.
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

/* The mode of the folders that a job gets. */
enum { JOB_DIR_MODE = 0750 };

/* Whether path is a folder with nothing in it, as a job gets it. */
bool scratch_is_fresh_dir(int dir_fd, const char *path);

/* Spare folders that a runner remembers. */
struct spares {
    char **names;
    size_t n;
};

/* Makes a spare folder the caller's own, as spare/AS: true, or false when there is none. AS begins
 * with a dot. */
bool scratch_take_spare(struct spares *p, const struct scratch *s, const char *as);
void spares_free(struct spares *p);

/* Keeps published/NAME, with log/NAME in it when that is empty; *count is how many there are
 * at most.  false: it cannot be kept and is where it was. */
bool scratch_keep_spare(const struct scratch *s, const char *name, size_t *count);
/* Removes all spare folders but those that runners have taken: these belong to their attempts, and
 * go with them (scratch_discard). */
void scratch_clear_spares(const struct scratch *s, size_t *count);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * scratch.h - the scratch folder, in which attempts move from run/ to ended/ to published/
 *
 * Nothing in it is ever synced: attempts that a power failure damages are run again.
 */
#ifndef LUDWIG_WORKER_BASE_SCRATCH_H
#define LUDWIG_WORKER_BASE_SCRATCH_H

#include <sys/types.h>

#include "worker/base/child_protocol.h"

/* more names, beside those in child_protocol.h */
#define JOB_TMP       "tmp"     /* TMPDIR */
#define JOB_RENAMED   "renamed" /* list of files renamed for other systems, see saved.h */
#define JOB_LOG       "log"     /* an empty log, for the next attempt */
#define SCRATCH_SPARE "spare"   /* emptied folders for the next attempts */

/* The last line of a log that has reached its limit (log: max), which lies at that limit. */
void scratch_log_end(struct buf *out, int64_t max_bytes);

struct scratch {
    char *path;
    int fd; /* -1: closed */
    int run_fd, ended_fd, published_fd, log_fd, cache_fd, spare_fd, checkpoints_fd;
};

/* Opens scratch and its folders, and makes those that are missing. */
int scratch_open(struct scratch *s, const char *path, struct err *e);
/* Opens the folders that are there and makes none: a missing one has the descriptor -1. */
void scratch_look(struct scratch *s, const char *path);
void scratch_close(struct scratch *s);
/* Opens scratch again after somebody removed it: makes its folders, then closes the old ones. */
int scratch_reopen(struct scratch *s, struct err *e);

/* Fails with ERR_NO_SPACE, and how much is free, if the file system of path has no room for another
 * attempt; returns 0 if it has, or if that cannot be found out. */
int scratch_check_room(const char *path, struct err *e);

/* Writes a file that replaces what an earlier attempt left under this name. */
int scratch_put(int dir_fd, const char *path, const void *bytes, size_t n, mode_t mode,
                struct err *e);

/* Writes the struct at from as a file of msgpack; path is relative to dir_fd. */
int scratch_write(int dir_fd, const char *path, const struct schema *schema, const void *from,
                  struct err *e);
/* As scratch_write, but by a rename, so that nobody sees a half-written file. */
int scratch_replace(int dir_fd, const char *path, const struct schema *schema, const void *from,
                    struct err *e);
/* Reads such a file into *to, with strings in a; refuses what is no plain file without waiting. */
int scratch_read(int dir_fd, const char *path, const struct schema *schema, struct arena *a,
                 void *to, struct err *e);

/* Removes as much of an attempt as it can; -1 with e set if something is left.  It removes the
 * report first: a folder in published/ without one is half removed, and scratch_sweep goes on. */
int scratch_discard(const struct scratch *s, const struct token *token, struct err *e);
/* Removes a checkpoint that was brought for the attempt and not moved into its folder. */
int scratch_discard_checkpoint(const struct scratch *s, const struct token *token, struct err *e);
void scratch_sweep(const struct scratch *s);

/*
 * Spare folders: folders of earlier attempts, used again.
 *
 * Making and removing files is most of what a short job costs, above all where ext4 has no journal:
 * before ext4 gives out an inode it passes over every one that was freed in the last minutes.  So
 * the folder of a published attempt is kept for a while, emptied except for the files that every
 * attempt has; the next attempt takes it by a rename and overwrites them.
 *
 *   run/ ─▶ ended/ ─▶ published/ ─discard─▶ spare/ ─next attempt─▶ run/
 *
 * The publisher keeps spare folders, runners take them; an idle worker has none.
 */

/* The mode of the folders that a job gets. */
enum { JOB_DIR_MODE = 0750 };

/* Whether path is an empty folder with our uid and JOB_DIR_MODE. */
bool scratch_is_fresh_dir(int dir_fd, const char *path);

/* The names of spare folders, as a runner last listed them. */
struct spares {
    char **names;
    size_t n;
};

/* Renames a spare folder to spare/AS, which makes it the caller's; AS begins with a dot.  false:
 * there is no spare folder. */
bool scratch_take_spare(struct spares *p, const struct scratch *s, const char *as);
void spares_free(struct spares *p);

/* Makes published/NAME a spare folder, with log/NAME in it if that is empty; *count: how many there
 * are at most, kept up to date.  false: it cannot be kept and stays in published/. */
bool scratch_keep_spare(const struct scratch *s, const char *name, size_t *count);
/* Removes all spare folders except those that runners have taken, which scratch_discard removes
 * with their attempts; sets *count to 0. */
void scratch_clear_spares(const struct scratch *s, size_t *count);

#endif

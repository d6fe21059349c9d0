/* SPDX-License-Identifier: MIT */
/*
 * checkpoint.h - names of checkpoints on the share, and snapshots of what lies in a checkpoint
 *
 * The life of a checkpoint, in five files: a runner asks its job to save one (checkpoint_signal.h),
 * the publisher copies it to the share while the job runs (checkpoint_copy.h) and when it has ended
 * (checkpoint_publish.h), and a stager brings it to scratch for the next attempt
 * (checkpoint_restore.h).  They share this file, which has names on the share
 *
 *   .ludwig/checkpoints/param_003/NAME.a2.5/       the fifth copy while attempt 2 ran
 *   .ludwig/checkpoints/param_003/NAME.a2/         what attempt 2 left at its end
 *   .ludwig/checkpoints/param_003/.NAME.a2.TOKEN/  a copy that is not complete yet
 *   .ludwig/checkpoints/param_003/.NAME.a2.5.TOKEN/  one that is being removed
 *
 * (a checkpoint under its final name is complete, and gets that name before an older one loses its
 * own, so that there always is one) and the snapshot of a folder: names, sizes, modes and times,
 * without reading the files.  A snapshot in a file is the index of a copy on the share: it lists
 * what a complete copy has, and keeps what not every share can hold: symlinks, modes, times and
 * names that the job gave.  It leaves out fifos, sockets, devices and other users' files, and never
 * follows a symlink.
 */
#ifndef LUDWIG_WORKER_SAVED_CHECKPOINT_H
#define LUDWIG_WORKER_SAVED_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/data/schema.h"
#include "common/share/share.h"

/* ---- names on the share ---- */

#define CHECKPOINT_AT_END INT64_MAX

struct checkpoint_name {
    int64_t attempt;
    int64_t number; /* of the attempt's copies; CHECKPOINT_AT_END: the one from its end */
};

void checkpoint_add_name(struct buf *out, const char *job_name, const struct checkpoint_name *k);
/* Adds the temporary name, that of a copy before it has any of the attempt's names. */
void checkpoint_add_temporary(struct buf *out, const char *job_name, int64_t attempt,
                              const struct token *token);

/* Sets *newest to the newest checkpoint up to *up_to and returns 1; 0: there is none; -1 with e
 * set.  Here and below d is the folder .../param_003. */
int checkpoint_find_newest(const struct share_dir *d, const char *job_name,
                           const struct checkpoint_name *up_to, struct checkpoint_name *newest,
                           struct err *e);

/* Renames a complete copy to its name *as; removes a copy that has that name already. */
int checkpoint_give_name(const struct share_dir *d, const char *temporary, const char *job_name,
                         const struct checkpoint_name *as, const char *token_hex, struct err *e);

/* Removes these attempts' checkpoints that are older than *than (NULL: all), and what they left
 * incomplete or half removed. */
int checkpoint_remove_older(const struct share_dir *d, const char *job_name,
                            const struct checkpoint_name *than, int64_t first_attempt,
                            int64_t last_attempt, const char *token_hex, struct err *e);

/* ---- snapshots of folders ---- */

/* The index's name in a copy, in which a file of the job with this name gets another one. */
#define CHECKPOINT_INDEX ".checkpoint"

enum checkpoint_type { CHECKPOINT_FILE, CHECKPOINT_FOLDER, CHECKPOINT_LINK, CHECKPOINT_TYPES };

struct checkpoint_entry {
    int type;           /* enum checkpoint_type */
    const char *path;   /* in the job's folder */
    const char *stored; /* path in the copy, see portable_names.h; NULL: the same */
    const char *target; /* of a symlink, which only the index has */
    int64_t mode;       /* of files and folders */
    int64_t size_bytes; /* this and the next two: of files */
    int64_t changed_ns; /* modification time, in ns since 1970 */
    uint64_t inode;     /* not in the index: shows that a file was replaced by another one */
};

struct checkpoint_snapshot {
    struct arena *arena;
    struct checkpoint_entry *entries; /* folders before what is in them */
    size_t n;
    size_t capacity;
    const struct checkpoint_entry **by_stored; /* sorted; NULL: checkpoint_snapshot_find makes it */
    size_t n_left_out;
};

/* Takes the snapshot of the folder; checkpoint_snapshot_free frees *s, as does a failure. */
int checkpoint_snapshot_take(struct checkpoint_snapshot *s, int root_fd, struct err *e);
void checkpoint_snapshot_free(struct checkpoint_snapshot *s);

/* Returns the entry's path in the copy. */
const char *checkpoint_stored(const struct checkpoint_entry *entry);
/* Returns the entry whose path in the copy is stored, or NULL. */
const struct checkpoint_entry *checkpoint_snapshot_find(struct checkpoint_snapshot *s,
                                                        const char *stored);
/* Whether the indexes of x and y would be equal; the second: whether also all inodes are. */
bool checkpoint_snapshot_equal(const struct checkpoint_snapshot *x,
                               const struct checkpoint_snapshot *y);
bool checkpoint_snapshot_is_untouched(const struct checkpoint_snapshot *x,
                                      const struct checkpoint_snapshot *y);

/* Adds the index to out; equal folders have equal indexes. */
int checkpoint_snapshot_add_index(struct buf *out, const struct checkpoint_snapshot *s,
                                  struct err *e);
/* Reads an index into *s, as checkpoint_snapshot_take does; ERR_PROTOCOL: it is damaged. */
int checkpoint_snapshot_read_index(struct checkpoint_snapshot *s, struct bytes index,
                                   struct err *e);

#endif

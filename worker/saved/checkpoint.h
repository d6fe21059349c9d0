/* SPDX-License-Identifier: MIT */
/*
 * checkpoint.h - names of checkpoints on the share, and what lies in a checkpoint
 *
 * The life of a checkpoint, in five files: a runner asks its job to save one (checkpoint_signal.h),
 * the publisher copies it to the share while the job runs (checkpoint_copy.h) and when it has ended
 * (checkpoint_publish.h), and a stager brings it to scratch for the next attempt
 * (checkpoint_restore.h).  What they have in common is here: the names
 *
 *   .ludwig/checkpoints/param_003/NAME.a2.5/       the fifth copy while attempt 2 ran
 *   .ludwig/checkpoints/param_003/NAME.a2/         what it left at its end
 *   .ludwig/checkpoints/param_003/.NAME.a2.TOKEN/  on its way there
 *   .ludwig/checkpoints/param_003/.NAME.a2.5.TOKEN/  being removed
 *
 * A checkpoint with its name is whole.  A newer one gets its name before an older one loses its
 * own, so that there always is one.
 *
 * and the snapshot of a folder: names, sizes, modes and times; the files are not read.  Written
 * down it is the index that lies with a copy on the share: it says what the copy must have to be
 * whole, and what only the index knows, as not every share can hold it (symlinks, modes, times, the
 * names that the job gave).  Fifos, sockets, devices and other users' files are left out.  No
 * symlink is ever followed.
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
    int64_t number; /* of its copies; CHECKPOINT_AT_END: the last one */
};

void checkpoint_add_name(struct buf *out, const char *job_name, const struct checkpoint_name *k);
/* The temporary name on the way to any of the attempt's names. */
void checkpoint_add_temporary(struct buf *out, const char *job_name, int64_t attempt,
                              const struct token *token);

/* The newest checkpoint up to this; 1, 0 when there is none, -1 with e set.  d: .../param_003. */
int checkpoint_find_newest(const struct share_dir *d, const char *job_name,
                           const struct checkpoint_name *up_to, struct checkpoint_name *newest,
                           struct err *e);

/* Gives a whole copy its name; a copy that has that name already makes room. */
int checkpoint_give_name(const struct share_dir *d, const char *temporary, const char *job_name,
                         const struct checkpoint_name *as, const char *token_hex, struct err *e);

/* Removes all older ones (NULL: all), and those that attempts up to this one left half-made. */
int checkpoint_remove_older(const struct share_dir *d, const char *job_name,
                            const struct checkpoint_name *than, int64_t attempt,
                            const char *token_hex, struct err *e);

/* ---- snapshots of folders ---- */

/* The index in a copy; a file of the job with this name gets another one there. */
#define CHECKPOINT_INDEX ".checkpoint"

enum checkpoint_type { CHECKPOINT_FILE, CHECKPOINT_FOLDER, CHECKPOINT_LINK, CHECKPOINT_TYPES };

struct checkpoint_entry {
    int type;           /* enum checkpoint_type */
    const char *path;   /* below the folder */
    const char *stored; /* below the copy, see portable_names.h; NULL: the same */
    const char *target; /* of a symlink, which is in the index alone */
    int64_t mode;       /* of files and folders */
    int64_t size_bytes; /* of files, as the next */
    int64_t changed_ns; /* since 1970 */
    uint64_t inode;     /* not in the index: of files, to tell one that took another's place */
};

struct checkpoint_snapshot {
    struct arena *arena;
    struct checkpoint_entry *entries; /* folders before what is in them */
    size_t n;
    size_t capacity;
    const struct checkpoint_entry **by_stored; /* sorted; NULL: not asked for yet */
    size_t n_left_out;
};

/* *s is zero, or freed by checkpoint_snapshot_free, as it is after a failure. */
int checkpoint_snapshot_take(struct checkpoint_snapshot *s, int root_fd, struct err *e);
void checkpoint_snapshot_free(struct checkpoint_snapshot *s);

const char *checkpoint_stored(const struct checkpoint_entry *entry);
/* The entry of this stored name, or NULL. */
const struct checkpoint_entry *checkpoint_snapshot_find(struct checkpoint_snapshot *s,
                                                        const char *stored);
/* Equal in all that is in the index; untouched: also in inodes, which tell more. */
bool checkpoint_snapshot_equal(const struct checkpoint_snapshot *x,
                               const struct checkpoint_snapshot *y);
bool checkpoint_snapshot_is_untouched(const struct checkpoint_snapshot *x,
                                      const struct checkpoint_snapshot *y);

/* The index; equal folders have equal ones. */
int checkpoint_snapshot_add_index(struct buf *out, const struct checkpoint_snapshot *s,
                                  struct err *e);
/* ERR_PROTOCOL: it is damaged. */
int checkpoint_snapshot_read_index(struct checkpoint_snapshot *s, struct bytes index,
                                   struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_snapshot.h - what lies in a checkpoint folder at a moment
 *
 * Names, sizes, modes and times; the files are not read.  Written down it is the index
 * that lies with a copy on the share: it says what the copy must have to be whole, and
 * what only the index knows, as not every share can hold it (symlinks, modes, times, the
 * names that the job gave).  Fifos, sockets, devices and what is somebody else's are left
 * out.  No symlink is ever followed.
 */
#ifndef LUDWIG_WORKER_SAVED_CHECKPOINT_SNAPSHOT_H
#define LUDWIG_WORKER_SAVED_CHECKPOINT_SNAPSHOT_H

#include <stdbool.h>

#include "common/data/schema.h"

/* In a copy; what the job itself calls so gets another name there. */
#define CHECKPOINT_SNAPSHOT_INDEX ".checkpoint"

enum checkpoint_snapshot_type {
    CHECKPOINT_SNAPSHOT_FILE,
    CHECKPOINT_SNAPSHOT_FOLDER,
    CHECKPOINT_SNAPSHOT_LINK,
    CHECKPOINT_SNAPSHOT_TYPES
};

struct checkpoint_snapshot_entry {
    int type;           /* enum checkpoint_snapshot_type */
    const char *path;   /* below the folder */
    const char *stored; /* below the copy, see portable.h; NULL: the same */
    const char *target; /* of a symlink, which is in the index alone */
    int64_t mode;       /* of files and folders */
    int64_t size_bytes; /* of files, as the next */
    int64_t changed_ns; /* since 1970 */
    uint64_t inode;     /* not in the index: of files, to tell one that took another's place */
};

struct checkpoint_snapshot {
    struct arena *arena;
    struct checkpoint_snapshot_entry *entries; /* folders before what is in them */
    size_t n;
    size_t capacity;
    const struct checkpoint_snapshot_entry **by_stored; /* sorted; NULL: not asked for yet */
    size_t n_left_out;
};

/* *s is zero, or freed by checkpoint_snapshot_free, as it is after a failure. */
int checkpoint_snapshot_take(struct checkpoint_snapshot *s, int root_fd, struct err *e);
void checkpoint_snapshot_free(struct checkpoint_snapshot *s);

const char *checkpoint_snapshot_stored(const struct checkpoint_snapshot_entry *entry);
/* The entry of this stored name, or NULL. */
const struct checkpoint_snapshot_entry *checkpoint_snapshot_find(struct checkpoint_snapshot *s,
                                                                 const char *stored);
/* By all that is in the index; and by inodes, which tell more. */
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

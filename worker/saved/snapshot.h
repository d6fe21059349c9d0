/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - what lies in a checkpoint folder at a moment
 *
 * Names, sizes, modes and times; the files are not read.  Written down it is the index
 * that lies with a copy on the share: it says what the copy must have to be whole, and
 * what only the index knows, as not every share can hold it (symlinks, modes, times, the
 * names that the job gave).  Fifos, sockets, devices and what is somebody else's are left
 * out.  No symlink is ever followed.
 */
#ifndef LUDWIG_WORKER_SAVED_SNAPSHOT_H
#define LUDWIG_WORKER_SAVED_SNAPSHOT_H

#include <stdbool.h>

#include "common/data/schema.h"

/* In a copy; what the job itself calls so gets another name there. */
#define SNAPSHOT_INDEX ".checkpoint"

enum snapshot_type { SNAPSHOT_FILE, SNAPSHOT_FOLDER, SNAPSHOT_LINK, SNAPSHOT_TYPES };

struct snapshot_entry {
    int type;           /* enum snapshot_type */
    const char *path;   /* below the folder */
    const char *stored; /* below the copy, see portable.h; NULL: the same */
    const char *target; /* of a symlink, which is in the index alone */
    int64_t mode;       /* of files and folders */
    int64_t size_bytes; /* of files, as the next */
    int64_t changed_ns; /* since 1970 */
    uint64_t inode;     /* not in the index: of files, to tell one that took another's place */
};

struct snapshot {
    struct arena *arena;
    struct snapshot_entry *entries; /* folders before what is in them */
    size_t n;
    size_t capacity;
    const struct snapshot_entry **by_stored; /* sorted; NULL: not asked for yet */
    size_t n_left_out;
};

/* *s is zero, or freed by snapshot_free, as it is after a failure. */
int snapshot_take(struct snapshot *s, int root_fd, struct err *e);
void snapshot_free(struct snapshot *s);

const char *snapshot_stored(const struct snapshot_entry *entry);
/* The entry of this stored name, or NULL. */
const struct snapshot_entry *snapshot_find(struct snapshot *s, const char *stored);
/* By all that is in the index; and by inodes, which tell more. */
bool snapshot_equal(const struct snapshot *x, const struct snapshot *y);
bool snapshot_is_untouched(const struct snapshot *x, const struct snapshot *y);

/* The index; equal folders have equal ones. */
int snapshot_add_index(struct buf *out, const struct snapshot *s, struct err *e);
/* ERR_PROTOCOL: it is damaged. */
int snapshot_read_index(struct snapshot *s, struct bytes index, struct err *e);

/* Like openat, but meets no symlink anywhere in the path. */
int snapshot_open(int root_fd, const char *path, int flags);

#endif

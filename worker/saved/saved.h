/* SPDX-License-Identifier: MIT */
/*
 * saved.h - scans what a job saved, makes it fit for the share, and copies it there
 *
 * A scan changes the tree in place: names that some clients could not show become portable
 * (portable_names.h), modes become the project's, and what is neither file, folder nor symlink is
 * removed.  Changes of names are recorded before they are made, so that an interrupted scan can be
 * repeated.  The saved folder is closed to others (0700), see share_project_open_up.  Other users'
 * files, which we may not read or rename, stay as they are and are left out.  job.json and
 * metrics.jsonl are names of ours: a file of the job's that has one gets another.  A file with further
 * names (hard links) keeps its mode and group, as they count for all of these names.
 */
#ifndef LUDWIG_WORKER_SAVED_SAVED_H
#define LUDWIG_WORKER_SAVED_SAVED_H

#include "common/data/schema.h"
#include "common/share/share_project.h"

enum saved_type { SAVED_FILE, SAVED_FOLDER, SAVED_LINK };

struct saved_entry {
    enum saved_type type;
    const char *path; /* below the saved folder */
    mode_t mode;
    uint64_t size_bytes;
    struct digest digest; /* files only */
};

/* A name that the scan changed. */
struct saved_rename {
    const char *folder; /* its folder's path below the saved folder, in old names; "" at the top */
    const char *from;
    const char *to;
    const char *path; /* the entry's path below the saved folder, in new names */
};

struct saved {
    struct arena *arena;
    struct saved_entry *entries; /* folders before what is in them */
    size_t n;
    size_t capacity;
    struct saved_rename *renames;
    size_t n_renames;
    size_t renames_capacity;
    const char **left_out; /* paths of fifos and the like, and of other users' files */
    size_t n_left_out;
    size_t left_out_capacity;
};

/*
 * Scans the folder dir_fd/name.  record_fd/record is the file that records changes of names; it is
 * written only if there are any.  *s has an arena and is zero otherwise; saved_free frees the rest.
 */
int saved_scan(struct saved *s, int dir_fd, const char *name, int record_fd, const char *record,
               const struct share_modes *modes, struct err *e);
void saved_free(struct saved *s);

/* Adds a file that is no part of what the job saved; its path stays the caller's. */
void saved_add(struct saved *s, const struct saved_entry *entry);

/* Whether this errno means something that a container left: a file of another user, or a mount that
 * died with the container. */
bool saved_is_foreign(int error);

/* Copies the scanned folder from_fd to an empty one, see share_copy_in; ERR_FAILED: a file has
 * changed since the scan. */
int saved_copy(struct saved *s, int from_fd, const struct share_dir *to, struct err *e);

#endif

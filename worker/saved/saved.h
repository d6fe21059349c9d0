/* SPDX-License-Identifier: MIT */
/*
 * saved.h - what a job saved: its files, their digests, and names that travel
 *
 * A scan makes the tree fit for the share, in place: names that some clients could not
 * show are changed (portable_names.h), modes become the project's, and what is neither file,
 * folder nor symlink is removed.  The changes of names are written down before they
 * are made, so that a scan that was broken off can be done again.  The folder itself is closed to
 * all others (0700), see share_project_open_up.  Other users' files,
 * which we may not read or rename, stay as they are and are left out.
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

/* A name that was changed. */
struct saved_rename {
    const char *folder; /* below the saved folder, by its old names; "" for that itself */
    const char *from;
    const char *to;
    const char *path; /* of the entry now, by the new names */
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
 * Scans the folder dir_fd/name.  record_fd/record is the file with the changes of names, written
 * only when there are any.  *s must hold an arena and else be zero; saved_free when done.
 */
int saved_scan(struct saved *s, int dir_fd, const char *name, int record_fd, const char *record,
               const struct share_modes *modes, struct err *e);
void saved_free(struct saved *s);

/* Whether the error means something that a container left: a file of another user, or a mount that
 * died with the container. */
bool saved_is_foreign(int error);

/* Copies what was scanned in from_fd to an empty folder, see share_copy_in; ERR_FAILED: it has
 * changed since. */
int saved_copy(struct saved *s, int from_fd, const struct share_dir *to, struct err *e);

#endif

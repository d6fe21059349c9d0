/* SPDX-License-Identifier: MIT */
/*
 * share_project.h - folders on the shared drive, with the modes of their project
 *
 * Workers never make a project's folder.  If it is missing, the share cannot be reached (is not
 * mounted, say), and nothing is made in its place.  Files inside a project get the read permissions
 * of the project's folder, and its group if that folder has the set-group-id bit.
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_PROJECT_H
#define LUDWIG_COMMON_SHARE_SHARE_PROJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/share/share.h"

struct share_modes {
    mode_t dir;    /* 0755, 02750, 0700, ... */
    mode_t file;   /* dir without its execute bits */
    gid_t group;   /* (gid_t)-1: the process's own group */
    int64_t owner; /* uid of the project's folder */
};

/* The modes of files and folders below a project whose folder has this stat. */
struct share_modes share_modes_of(const struct share_stat *project);
/* The mode for a file whose mode is `now`: a file that its owner may execute stays executable. */
mode_t share_project_file_mode(const struct share_modes *m, mode_t now);

/* The mode of a folder that only its owner may enter; new files in it get the project's group. */
mode_t share_project_closed_mode(const struct share_modes *m);

/* Opens a folder inside a project and makes missing folders; path begins with the project's name.
 * Sets *modes.  NULL with *e set. */
struct share_dir *share_project_open_folder(const struct share_dir *share, const char *path,
                                            struct share_modes *modes, struct err *e);

/* Opens the project's own folder; path begins with the project's name.  Sets *modes.  NULL with *e
 * set. */
struct share_dir *share_project_open_project(const struct share_dir *share, const char *path,
                                             struct share_modes *modes, struct err *e);

/*
 * share_project_make_closed makes a folder that is filled before it gets its final name.  On a
 * mount only its owner may enter it, so that no other user puts symlinks into it, until
 * share_project_open_up gives it the project's mode.  share_project_open_up returns 0 also when the
 * folder is missing or belongs to another user.  Over SFTP the folder has the project's mode from
 * the beginning, as an SFTP server would change modes through symlinks, too.
 */
int share_project_make_closed(const struct share_dir *at, const char *path,
                              const struct share_modes *m, struct err *e);
int share_project_open_up(const struct share_dir *at, const char *path, const struct share_modes *m,
                          struct err *e);

/* Whether a listing of the folder has the name.  A network file system may cache for half a minute
 * that a name did not exist; a listing does not use that cache. */
bool share_project_is_listed(const struct share_dir *at, const char *path, const char *name);

#endif

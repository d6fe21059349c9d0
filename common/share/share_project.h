/* SPDX-License-Identifier: MIT */
/*
 * share_project.h - folders on the shared drive, with the modes of their project
 *
 * Only ludwigd makes the project's folder.  Where it is missing the share is away (not mounted,
 * say), and nothing is made in its place.  Files inside a project are as readable as the project's
 * folder, and of its group where that folder is setgid.
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_PROJECT_H
#define LUDWIG_COMMON_SHARE_SHARE_PROJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/share/share.h"

struct share_modes {
    mode_t dir;  /* 0755, 02750, 0700, ... */
    mode_t file; /* the same without its execute bits */
    gid_t group; /* (gid_t)-1: the process's own */
};

/* The modes of files and folders below a project whose folder has this stat. */
struct share_modes share_modes_of(const struct share_stat *project);
/* The mode to set for a file that now has this one: execute bits stay. */
mode_t share_project_file_mode(const struct share_modes *m, mode_t now);

/* The mode of a folder that only its owner enters; new files in it get the project's group. */
mode_t share_project_closed_mode(const struct share_modes *m);

/* Opens a folder inside a project, making it if need be; path begins with the project's name.
 * NULL with e set. */
struct share_dir *share_project_open_folder(const struct share_dir *share, const char *path,
                                            struct share_modes *modes, struct err *e);

/* The project's own folder, by a path that begins with its name. */
struct share_dir *share_project_open_project(const struct share_dir *share, const char *path,
                                             struct share_modes *modes, struct err *e);

/*
 * Makes a folder to be filled before it gets its name.  On a mount it is closed to all others, so
 * that nobody else puts symlinks into it, until share_project_open_up, which others than its owner
 * need not be able to do.  Over SFTP it is open from the beginning, as a server changes modes through
 * symlinks, too.
 */
int share_project_make_closed(const struct share_dir *at, const char *path,
                              const struct share_modes *m, struct err *e);
int share_project_open_up(const struct share_dir *at, const char *path, const struct share_modes *m,
                          struct err *e);

/* Whether a listing of the folder has the name; a network file system may remember for half a
 * minute that a name was not there, but not in a listing. */
bool share_project_is_listed(const struct share_dir *at, const char *path, const char *name);

#endif

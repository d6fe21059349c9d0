/* SPDX-License-Identifier: MIT */
/*
 * share_project.h - folders on the shared drive, with the modes of their project
 *
 * The project's folder is ludwigd's to make.  Where it is missing the share is
 * away (not mounted, say), and nothing is made in its place.  What lies inside a
 * project is as readable as the project's folder says, and of its group where
 * that folder is setgid.
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

/* Of what is made below a project whose folder is this. */
struct share_modes share_modes_of(const struct share_stat *project);
/* What to set for an entry that now has this mode: execute bits stay with files. */
mode_t share_project_file_mode(const struct share_modes *m, mode_t now);

/* Opens a folder inside a project, making it if need be; path begins with the project's name.
 * NULL with e set. */
struct share_dir *share_project_open_folder(const struct share_dir *share, const char *path,
                                            struct share_modes *modes, struct err *e);

/* The project's own folder, by a path that begins with its name. */
struct share_dir *share_project_open_project(const struct share_dir *share, const char *path,
                                             struct share_modes *modes, struct err *e);

/* By a listing of the folder, because a network file system may remember for half a minute that a
 * name was not there. */
bool share_project_is_listed(const struct share_dir *at, const char *path, const char *name);

#endif

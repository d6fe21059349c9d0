/* SPDX-License-Identifier: MIT */
/*
 * beneath.h - what lies below a folder, reached through no symlink
 *
 * In a folder that others may write, too, a name may become a symlink at any moment.  These
 * functions follow none on the whole way and do not leave the folder: where a symlink lies in the
 * way they fail with ELOOP.  Otherwise they are the system calls of the same names, with paths below
 * dir_fd.  Linux 5.6 and later follow the way themselves; elsewhere each folder on it is opened.
 *
 * Those without e return -1 with errno.
 */
#ifndef LUDWIG_COMMON_BASE_BENEATH_H
#define LUDWIG_COMMON_BASE_BENEATH_H

#include <sys/stat.h>
#include <sys/types.h>

#include "common/base/err.h"

/* As openat(2), close-on-exec; mode counts with O_CREAT.  path "": the folder itself. */
int beneath_open(int dir_fd, const char *path, int flags, mode_t mode);
/* The same; what is ours and has a mode that keeps us out gets these mode bits before. */
int beneath_open_own(int dir_fd, const char *path, int flags, mode_t bits);
/* Opens one name, on the same file system as dir_fd (from Linux 5.6 on): a user may have mounted another
 * (FUSE), which lies and waits.  EXDEV: there is one. */
int beneath_open_here(int dir_fd, const char *name, int flags);
/* Makes a file and opens it for writing.  A file or symlink of that name is removed before. */
int beneath_create(int dir_fd, const char *path, mode_t mode);

/* As lstat(2).  path "": the folder itself. */
int beneath_stat(int dir_fd, const char *path, struct stat *st);
int beneath_make_dir(int dir_fd, const char *path, mode_t mode);
int beneath_make_link(const char *target, int dir_fd, const char *path);
/* flags: 0, or AT_REMOVEDIR for a folder. */
int beneath_remove(int dir_fd, const char *path, int flags);
int beneath_rename(int from_fd, const char *from, int to_fd, const char *to);

/* The same as io_remove_tree_at and io_read_link_at, with e set. */
int beneath_remove_tree(int dir_fd, const char *path, struct err *e);
char *beneath_read_link(int dir_fd, const char *path, struct err *e);

#endif

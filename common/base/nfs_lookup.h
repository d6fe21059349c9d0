/* SPDX-License-Identifier: MIT */
/*
 * nfs_lookup.h - finds files that another machine made a moment ago, also on a network file system
 *
 * A client of NFS remembers for up to 30 s that a name was not there, and looks again only when
 * the folder is opened.  So a name that is not found is looked up a second time, with every folder
 * on its way opened.  Code that waits for a file uses these functions.
 */
#ifndef LUDWIG_COMMON_BASE_NFS_LOOKUP_H
#define LUDWIG_COMMON_BASE_NFS_LOOKUP_H

#include <sys/stat.h>

/* As openat(2), without O_CREAT. */
int nfs_lookup_open(int dir_fd, const char *path, int flags);
/* As lstat(2). */
int nfs_lookup_stat(int dir_fd, const char *path, struct stat *st);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * folder_access.h - what the kernel would let a user do with a folder, by its mode and POSIX ACL
 *
 * Where a folder has an access control list, the group's bits of its mode are the list's mask, and
 * not the rights of the group.
 */
#ifndef LUDWIG_SERVER_SHARE_FOLDER_ACCESS_H
#define LUDWIG_SERVER_SHARE_FOLDER_ACCESS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "server/base/identity.h"

/* Whether the user has all of these bits (4 read, 2 write, 1 enter).  A symlink at path is not
 * followed.  If the list cannot be read, only the owner has any right. */
bool folder_access(const char *path, const struct stat *st, uid_t uid, const struct groups *groups,
                   mode_t bits);

/* The same for a list as the kernel gives it (system.posix_acl_access). */
bool folder_access_by_list(const void *list, size_t n, const struct stat *st, uid_t uid,
                           const struct groups *groups, mode_t bits);

#endif

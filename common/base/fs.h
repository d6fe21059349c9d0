/* SPDX-License-Identifier: MIT */
/*
 * fs.h - what kind of file system something lies on
 */
#ifndef LUDWIG_COMMON_BASE_FS_H
#define LUDWIG_COMMON_BASE_FS_H

#include <stdbool.h>
#include <stdint.h>

enum fs_kind { FS_UNKNOWN, FS_LOCAL, FS_MEMORY, FS_NETWORK };

struct fs_type {
    const char *name; /* "ext4"; "" when it is not known */
    enum fs_kind kind;
    bool keeps_owners; /* a file's uid is that of who made it, as far as its server knows */
};

/* What cannot be asked is FS_NETWORK. */
struct fs_type fs_type_of(const char *path);
struct fs_type fs_type_of_fd(int fd);
/* By the number statfs(2) tells on Linux. */
struct fs_type fs_type_of_magic(uint32_t magic);

/* Other machines may see it too, and nobody is told what they change.  True when in doubt. */
bool fs_is_network(const char *path);
bool fs_is_memory(const char *path);

#endif

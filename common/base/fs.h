/* SPDX-License-Identifier: MIT */
/* fs.h - the kind of file system that a path lies on */
#ifndef LUDWIG_COMMON_BASE_FS_H
#define LUDWIG_COMMON_BASE_FS_H

#include <stdbool.h>
#include <stdint.h>

enum fs_kind { FS_UNKNOWN, FS_LOCAL, FS_MEMORY, FS_NETWORK };

struct fs_type {
    const char *name; /* "ext4"; "" when it is not known */
    enum fs_kind kind;
    bool keeps_owners; /* a file's uid is its creator's, as far as its server knows */
};

/* FS_NETWORK where statfs(2) fails. */
struct fs_type fs_type_of(const char *path);
struct fs_type fs_type_of_fd(int fd);
/* The type with this number in Linux's statfs(2). */
struct fs_type fs_type_of_magic(uint32_t magic);

/* Whether other machines may change files there unnoticed by this kernel.  True when in doubt. */
bool fs_is_network(const char *path);
bool fs_is_memory(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sharefs_way.h - a way to the shared drive: what sharefs.c asks of it
 *
 * Paths have been looked at: they lie below the share.
 */
#ifndef LUDWIG_CLIENT_SHARE_SHAREFS_WAY_H
#define LUDWIG_CLIENT_SHARE_SHAREFS_WAY_H

#include "client/share/sharefs.h"

struct sharefs_way {
    void (*close)(struct sharefs *fs);
    char *(*where)(const struct sharefs *fs, const char *path);
    int (*stat)(struct sharefs *fs, const char *path, struct sharefs_entry *entry, struct err *e);
    /* In any order. */
    int (*list)(struct sharefs *fs, const char *path, struct arena *a, struct list *entries,
                struct err *e);
    const char *(*read_link)(struct sharefs *fs, const char *path, struct arena *a, struct err *e);
    struct sharefs_file *(*file_open)(struct sharefs *fs, const char *path, struct err *e);
    ssize_t (*file_read)(struct sharefs_file *f, int64_t offset, void *bytes, size_t n,
                         struct err *e);
    int (*file_size)(struct sharefs_file *f, int64_t *size_bytes, struct err *e);
    void (*file_close)(struct sharefs_file *f);
    int (*watch)(const struct sharefs *fs, const char *path);
    void (*ahead)(struct sharefs *fs, const char *path, sharefs_wanted *wanted, void *context);
    void (*forget)(struct sharefs *fs, const char *path);
};

/* What each way's own begin with. */
struct sharefs {
    const struct sharefs_way *way;
};

struct sharefs_file {
    const struct sharefs_way *way;
    int64_t offset;
};

enum sharefs_kind sharefs_kind_of(mode_t mode);

#endif

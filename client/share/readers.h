/* SPDX-License-Identifier: MIT */
/*
 * readers.h - finds out who beside their owner may read all of some files
 *
 * Copies on the shared drive must not be readable for anybody who may not read each of the files
 * that they were made of.
 */
#ifndef LUDWIG_CLIENT_SHARE_READERS_H
#define LUDWIG_CLIENT_SHARE_READERS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/share/share.h"

struct readers {
    bool not_others; /* not everybody may read all files */
    bool not_group;  /* no group may read all files that not everybody may read */
    bool has_group;  /* group may read these */
    gid_t group;
};

/* Adds a file, or a folder, which its readers must be able to enter as well. */
void readers_add(struct readers *r, const struct stat *st);
void readers_join(struct readers *r, const struct readers *other);
/* Whether the folder's group may read all files; an unknown group (SFTP) is taken to be allowed. */
bool readers_has_group(const struct readers *r, const struct share_stat *folder);
/* Returns the folder's mode without the rights of those who may not read all files. */
mode_t readers_limit(const struct readers *r, const struct share_stat *folder);

#endif

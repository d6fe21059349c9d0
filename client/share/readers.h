/* SPDX-License-Identifier: MIT */
/*
 * readers.h - who beside their owner may read all of some files
 *
 * What is copied to the shared drive is to be read by nobody who may not read each of the files that it
 * was made of.
 */
#ifndef LUDWIG_CLIENT_SHARE_READERS_H
#define LUDWIG_CLIENT_SHARE_READERS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/share/share.h"

struct readers {
    bool not_others; /* one of the files is not for everybody, */
    bool not_group;  /* and no group may read all that are not */
    bool has_group;  /* this one may */
    gid_t group;
};

/* A file, or a folder, which has to be entered as well. */
void readers_add(struct readers *r, const struct stat *st);
void readers_join(struct readers *r, const struct readers *other);
/* Whether the group of the folder may read all; one that is not known (SFTP) is taken for the right
 * one. */
bool readers_has_group(const struct readers *r, const struct share_stat *folder);
/* The folder's mode without the rights of those who may not. */
mode_t readers_limit(const struct readers *r, const struct share_stat *folder);

#endif

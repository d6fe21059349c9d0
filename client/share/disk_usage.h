/* SPDX-License-Identifier: MIT */
/*
 * disk_usage.h - how much of the shared drive a project takes
 */
#ifndef LUDWIG_CLIENT_SHARE_DISK_USAGE_H
#define LUDWIG_CLIENT_SHARE_DISK_USAGE_H

#include "common/data/schema.h"
#include "common/share/share.h"

/* The bytes that a project, or several, take on the share (docs/json.md). */
struct disk_usage {
    const char *project; /* NULL: several */
    const char *user;    /* NULL: all users, or not known */
    int64_t results, failed, logs, checkpoints, packs, other, total;
    int64_t unread; /* folders that could not be looked into */
};
extern const struct schema disk_usage_schema;

/* Looks at every file of the project; links are not followed. */
int disk_usage_read(const struct share_dir *root, const char *project, struct disk_usage *u,
                    struct err *e);
void disk_usage_add(struct disk_usage *sum, const struct disk_usage *u);

#endif

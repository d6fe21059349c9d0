/* SPDX-License-Identifier: MIT */
/*
 * publish_group.h - folders and one sync, which results that are published together share
 *
 * Each folder on the share is opened once for the group, and synced once.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_PUBLISH_GROUP_H
#define LUDWIG_WORKER_PUBLISHER_PUBLISH_GROUP_H

#include "common/data/value.h"
#include "worker/base/scratch.h"
#include "common/share/share_project.h"

struct publish_group_share {
    struct publish_group_share *next;
    const char *name;
    struct share_dir *dir;
    bool is_synced_whole; /* one share_sync makes all of it durable */
    bool has_failed;      /* it could not be synced */
    struct err why;
};

struct publish_group_folder {
    struct publish_group_folder *next;
    struct publish_group_share *share;
    const char *path;
    struct share_dir *dir;
    struct share_modes modes;
    bool has_params;  /* param2val.yaml is there */
    bool has_changed; /* a result was renamed in it */
    bool has_failed;  /* it could not be synced */
    struct err why;
};

struct publish_group {
    struct scratch *scratch;
    struct shares *access;
    struct arena *arena;
    struct publish_group_share *shares;
    struct publish_group_folder *folders;
    struct share_sync *files; /* files to sync one by one; their directories stay open */
    size_t n_files;
    size_t capacity;
};

/* Returns the share, opened once for the group; NULL with e set. */
struct publish_group_share *publish_group_share(struct publish_group *g, const char *share,
                                                struct err *e);
/* Returns the folder inside a project, made if need be; NULL with e set. */
struct publish_group_folder *publish_group_folder(struct publish_group *g, const char *share,
                                                  const char *path, struct err *e);
/* Writes param2val.yaml, once per configuration. */
int publish_group_add_params(struct publish_group *g, struct publish_group_folder *f,
                             const struct value *params, const char *token_hex, struct err *e);

/* Removes the tree at this path of the share; another user's tree stays, which is no error. */
int publish_group_remove(struct publish_group *g, const char *share, const char *path,
                         struct err *e);

/* Adds a file that must be durable before its result is renamed; path is below the folder. Does
 * nothing where the share is synced as a whole. */
void publish_group_add_file(struct publish_group *g, struct publish_group_folder *f,
                            const char *path);

/* Syncs the files; failures are noted in shares (synced whole) and files. */
void publish_group_sync(struct publish_group *g);
/* After the renames: syncs the folders they were made in. */
void publish_group_sync_folders(struct publish_group *g);

void publish_group_end(struct publish_group *g);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * group.h - what results that are published together share: folders, and one sync
 *
 * Each folder on the share is opened once for the group, and synced once.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_GROUP_H
#define LUDWIG_WORKER_PUBLISHER_GROUP_H

#include "common/data/value.h"
#include "worker/base/scratch.h"
#include "worker/share/shared.h"

struct group_share {
    struct group_share *next;
    const char *name;
    struct share_dir *dir;
    bool is_synced_whole; /* one share_sync does */
    bool has_failed;      /* syncing it */
    struct err why;
};

struct group_folder {
    struct group_folder *next;
    struct group_share *share;
    const char *path;
    struct share_dir *dir;
    struct shared_modes modes;
    bool has_params;  /* param2val.yaml is there */
    bool has_changed; /* a result was renamed in it */
    bool has_failed;  /* syncing it */
    struct err why;
};

struct group {
    struct scratch *scratch;
    struct shares *access;
    struct arena *arena;
    struct group_share *shares;
    struct group_folder *folders;
    struct share_sync *files; /* to be synced one by one; directories of theirs stay open */
    size_t n_files;
    size_t capacity;
};

/* NULL with e set. */
struct group_share *group_share(struct group *g, const char *share, struct err *e);
/* The folder inside a project, made if need be; NULL with e set. */
struct group_folder *group_folder(struct group *g, const char *share, const char *path,
                                  struct err *e);
/* param2val.yaml, once per configuration. */
int group_add_params(struct group *g, struct group_folder *f, const struct value *params,
                     const char *token_hex, struct err *e);

/* Removes what lies there on the share; what belongs to somebody else stays, and nobody waits for
 * it. */
int group_remove(struct group *g, const char *share, const char *path, struct err *e);

/* Something that must be durable before its result is renamed; path is below the folder.
 * Nothing to do where the share is synced as a whole. */
void group_add_file(struct group *g, struct group_folder *f, const char *path);

/* What failed is noted in shares (synced whole) and files. */
void group_sync(struct group *g);
/* After the renames: the folders they were made in. */
void group_sync_folders(struct group *g);

void group_end(struct group *g);

#endif

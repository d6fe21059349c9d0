/* SPDX-License-Identifier: MIT */
/*
 * store_way.h - a way to the packs of a project: what store.c asks of it
 */
#ifndef LUDWIG_CLIENT_SHARE_STORE_WAY_H
#define LUDWIG_CLIENT_SHARE_STORE_WAY_H

#include "client/share/store.h"
#include "client/share/upload_way.h"

struct store_way {
    struct store *(*open)(const struct place *to, struct err *e);
    void (*close)(struct store *s);
    int (*list)(struct store *s, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
                struct err *e);
    int (*fetch)(struct store *s, const char *path, size_t max_bytes, store_got *got, void *context,
                 struct err *e);
    int (*fetch_all)(struct store *s, struct err *e);
    int (*remove)(struct store *s, const char *path, struct err *e);
    int (*mtime)(struct store *s, const char *path, int64_t *mtime_s, struct err *e);
    /* Who may not, as it is somebody else's, need not. */
    int (*touch)(struct store *s, const char *path, struct err *e);
    /* Makes the folders; called once, before anything is written. */
    int (*prepare)(struct store *s, struct err *e);
    int (*part_begin)(struct store *s, unsigned slot, struct err *e);
    int (*part_write)(struct store *s, unsigned slot, struct bytes bytes, struct err *e);
    /* part: the path it gets; list: that of its list. */
    int (*part_end)(struct store *s, unsigned slot, const char *part, const char *list,
                    struct bytes list_bytes, struct err *e);
    int (*put)(struct store *s, const char *path, struct bytes bytes, struct err *e);
    /* A manifest: it gets its name when all that came before has its own for good. */
    int (*put_last)(struct store *s, const char *path, struct bytes bytes, struct err *e);
    int (*settle)(struct store *s, struct err *e);
    void (*push)(struct store *s);                 /* NULL: there is nothing to do */
    int (*arrive)(struct store *s, struct err *e); /* NULL: it does so at once */
    mode_t (*project_mode)(const struct store *s); /* NULL: not known */
    void (*expect)(struct store *s, uint64_t bytes, unsigned parts);
    /* Whose files are made there, and what the clock there says (since 1970); -1: that is not known,
     * as nothing was made. */
    int (*tell)(struct store *s, int64_t *uid, int64_t *now_s);
};

/* What each way's own begin with. */
struct store {
    const struct store_way *way;
    const struct place *to;
    bool is_prepared;
    bool has_details; /* of all files that are listed */
    uint64_t settled_bytes;
    bool has_named; /* a name was asked for, whether or not that was answered */
};

extern const struct store_way store_mount, store_sftp;

extern const char *const store_folder_names[STORE_FOLDER_COUNT]; /* "", "parts", "blocks" */
/* "PROJECT/.ludwig/packs/BELOW".  Caller frees. */
char *store_path(const struct place *to, const char *below);
/* Of what was to be touched. */
int store_say_gone(const char *path, struct err *e);
/* Which folder a path begins with. */
enum store_folder store_folder_of(const char *path);

#endif

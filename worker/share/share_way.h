/* SPDX-License-Identifier: MIT */
/*
 * share_way.h - what each way of reaching the share does for share.h, function by function
 */
#ifndef LUDWIG_WORKER_SHARE_SHARE_WAY_H
#define LUDWIG_WORKER_SHARE_SHARE_WAY_H

#include "worker/share/share.h"

struct share_way {
    struct share_dir *(*open_dir)(const struct share_dir *at, const char *path, struct err *e);
    void (*close)(struct share_dir *d);
    int (*fd)(const struct share_dir *d);

    int (*stat)(const struct share_dir *at, const char *path, struct share_stat *st, struct err *e);
    int (*list)(const struct share_dir *d, void (*each)(void *context, const char *name),
                void *context, struct err *e);
    int (*make_dir)(const struct share_dir *at, const char *path, mode_t mode, struct err *e);
    int (*remove_file)(const struct share_dir *at, const char *path, struct err *e);
    int (*remove_dir)(const struct share_dir *at, const char *path, struct err *e);
    int (*remove_tree)(const struct share_dir *at, const char *path, struct err *e);
    int (*rename)(const struct share_dir *at, const char *path, const struct share_dir *to,
                  const char *to_path, struct err *e);

    int (*read)(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
                struct err *e);
    int (*write)(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                 mode_t mode, struct err *e);
    int (*ship)(const struct share_dir *at, const char *path, mode_t mode, int from_fd,
                struct err *e);

    int (*copy_in)(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                   struct err *e);
    int (*copy_out)(const struct share_dir *from, int to_fd, const struct share_item *items,
                    size_t n, struct err *e);

    struct share_file *(*create)(const struct share_dir *at, const char *path, mode_t mode,
                                 struct err *e);
    int (*put)(struct share_file *f, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
               struct err *e);
    int (*end)(struct share_file *f, struct err *e);

    struct share_input *(*open_input)(const struct share_dir *at, const char *path, uint64_t offset,
                                      struct err *e);
    ssize_t (*read_input)(struct share_input *in, void *bytes, size_t n, struct err *e);
    void (*close_input)(struct share_input *in);

    bool (*is_synced_whole)(const struct share_dir *d);
    int (*sync)(const struct share_dir *d, struct err *e);
    void (*sync_each)(struct share_sync *files, size_t n); /* all of this way */
    int (*sync_dir)(const struct share_dir *d, const char *name, struct err *e);
};

/* Each way's own begin with these. */
struct share_dir {
    const struct share_way *way;
};
struct share_file {
    const struct share_way *way;
};
struct share_input {
    const struct share_way *way;
};

/* share_mount.c */
struct share_dir *share_mount_open(const char *path, struct err *e);

/* share_mount_tree.c */
int share_mount_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                        struct err *e);
int share_mount_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                         size_t n, struct err *e);

/* share_line.c */
struct share_line;
/* Connects, and finds the share of that name.  NULL with e set, ERR_UNREACHABLE whatever it was. */
struct share_line *share_connection_open(const struct share_source *source, const char *name,
                                         struct err *e);
void share_connection_leave(struct share_line *line); /* NULL is fine */
/* The share's own folder. */
struct share_dir *share_connection_dir(struct share_line *line);
bool share_connection_is_of(const struct share_line *line, const char *name);
/* Nobody has a folder of it open. */
bool share_connection_is_free(const struct share_line *line);
/* Nothing can be asked any more; asks the server whether that is so. */
bool share_connection_is_broken(struct share_line *line);

#endif

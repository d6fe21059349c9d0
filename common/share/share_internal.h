/* SPDX-License-Identifier: MIT */
/*
 * share_internal.h - the two backends of share.h: what each does, function by function
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H
#define LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H

#include "common/sftp/sftp.h"
#include "common/share/share.h"

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
/* 0 or errno; file systems that cannot sync and need not are fine. */
int share_mount_sync_fd(int fd);

/* ---- SFTP ---- */

/* A connection: there is one for as long as somebody keeps it, or has a folder open. */
struct share_line {
    struct share_source source;
    struct sftp *sftp;
    char *name;     /* of the share */
    char *root;     /* on the server: what paths are relative to */
    size_t n_users; /* folders, and the one who keeps it for the next */
    bool is_connected;
    bool has_warned;
};

struct sftp_dir {
    struct share_dir dir;
    struct share_line *line;
    char *path; /* on the server */
};

extern const struct share_way share_sftp_way;

/* share.c: somebody does not need the connection any more; NULL is fine. */
void share_connection_leave(struct share_line *line);

/* Takes over path. */
struct share_dir *share_sftp_dir(struct share_line *line, char *path);
struct share_line *share_line_of(const struct share_dir *d);
struct sftp *share_sftp_of(const struct share_dir *d);
/* Of a path below the folder, on the server; the caller frees it. */
char *share_sftp_path(const struct share_dir *at, const char *path);
/* Hands an error of the client on: one by which callers would decide wrongly becomes another. */
int share_sftp_fail(const struct err *why, struct err *e);
int share_sftp_check(int result, const struct err *why, struct err *e);

/* share_sftp_tree.c */
int share_sftp_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                       struct err *e);
int share_sftp_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                        size_t n, struct err *e);

/* share_sftp_file.c */
int share_sftp_read(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
                    struct err *e);
int share_sftp_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                     mode_t mode, struct err *e);
int share_sftp_ship(const struct share_dir *at, const char *path, mode_t mode, int from_fd,
                    struct err *e);
struct share_file *share_sftp_create(const struct share_dir *at, const char *path, mode_t mode,
                                     struct err *e);
int share_sftp_put(struct share_file *file, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
                   struct err *e);
int share_sftp_end(struct share_file *file, struct err *e);
struct share_input *share_sftp_open_input(const struct share_dir *at, const char *path,
                                          uint64_t offset, struct err *e);
ssize_t share_sftp_read_input(struct share_input *in, void *bytes, size_t n, struct err *e);
void share_sftp_close_input(struct share_input *in);
/* Copies the rest of in_fd, at this offset; *n_bytes: how much that was.  hasher: gets all of it, too;
 * NULL is fine. */
int share_sftp_pour(struct sftp_file *to, uint64_t offset, int in_fd, uint64_t max_bytes,
                    struct hasher *hasher, uint64_t *n_bytes, struct err *e);

#endif

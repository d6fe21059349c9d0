/* SPDX-License-Identifier: MIT */
/*
 * share_sftp.h - what the files of a share that is reached over SFTP have in common
 */
#ifndef LUDWIG_WORKER_SHARE_SHARE_SFTP_H
#define LUDWIG_WORKER_SHARE_SHARE_SFTP_H

#include "common/sftp/sftp.h"
#include "worker/share/share_way.h"

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

/* Takes over path. */
struct share_dir *share_sftp_dir(struct share_line *line, char *path);
struct share_line *share_line_of(const struct share_dir *d);
struct sftp *share_sftp_of(const struct share_dir *d);
/* Of a path below the folder, on the server; the caller frees it. */
char *share_sftp_path(const struct share_dir *at, const char *path);
/* Hands an error of the client on: one by which callers would decide wrongly becomes another. */
int share_sftp_fail(const struct err *why, struct err *e);
int share_sftp_check(int result, const struct err *why, struct err *e);

/* share_sftp_in.c */
int share_sftp_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                       struct err *e);

/* share_sftp_out.c */
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

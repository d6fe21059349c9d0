/* SPDX-License-Identifier: MIT */
/* share_internal.h - structs and functions that only the files of common/share use */
#ifndef LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H
#define LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H

#include <sys/stat.h>

#include "common/sftp/sftp.h"
#include "common/share/share.h"

/* A connection to a share's machine.  It lives as long as a struct shares keeps it or one of its
 * folders is open. */
struct share_line {
    struct share_source source;
    struct sftp *sftp;
    char *name;                /* the share's name */
    char *root;                /* folder on the server to which paths are relative */
    size_t n_users;            /* open folders, plus one if a struct shares keeps it */
    struct share_ahead *ahead; /* replies that share_ahead asked for, or NULL */
    bool is_connected;         /* source made the connection; leave is called at its end */
    bool is_borrowed;          /* sftp belongs to the caller of share_open_sftp */
    bool has_warned;           /* the log has the warning "not-synced" */
};

struct share_dir {
    int fd;                  /* of a mounted folder; -1: over SFTP */
    char *path;              /* on the server; of a mounted folder: for messages, or NULL */
    struct share_line *line; /* over SFTP, else NULL */
    bool is_client;          /* opened by share_open_mount or share_open_sftp (see share.h) */
};

/* Opens a path below a mounted folder.  Only a client's path may lead through symlinks (see the top
 * of share.h).  mode is used with O_CREAT.  Returns a descriptor, -1 with errno set. */
int share_open_below(const struct share_dir *at, const char *path, int flags, mode_t mode);
/* Over SFTP: the path on the server of a path below the folder; the caller frees it. */
char *share_sftp_path(const struct share_dir *at, const char *path);
struct share_stat share_stat_of_attrs(const struct sftp_attrs *attrs);
/* Sets the mode of an open file or folder; -1 with errno set.  File systems such as CIFS, where the
 * server chooses owners and modes, refuse that: then it returns 0 without a change. */
int share_set_mode(int fd, mode_t mode);
/* ERR_PROTOCOL for a client's path that leads out of the folder. */
int share_check_path(const struct share_dir *at, const char *path, struct err *e);
/* Copies an error of the SFTP client to e and returns -1.  ERR_PROTOCOL becomes ERR_UNREACHABLE,
 * as callers would take it for a damaged file. */
int share_sftp_fail(const struct err *why, struct err *e);
/* Frees full (NULL is fine) and returns result.  If result is -1, changes the kind of the error in
 * e as share_sftp_fail does. */
int share_sftp_end(int result, char *full, struct err *e);

/* ---- share_file.c ---- */

/* Copies the next bytes of in_fd, max_bytes at most, to this offset of `to`; *n_bytes: how many.
 * The bytes are also added to hasher, unless it is NULL. */
int share_sftp_pour(struct sftp_file *to, uint64_t offset, int in_fd, uint64_t max_bytes,
                    struct hasher *hasher, uint64_t *n_bytes, struct err *e);

/* ---- share_sync.c ---- */

/* Makes an open file or folder durable.  Returns 0 or an errno; 0 also where the file system cannot
 * sync it and need not. */
int share_sync_fd(int fd);

/* ---- share_ahead.c ---- */

void share_ahead_free(struct share_ahead *h);
/* These wait for a reply that share_ahead asked for.  They return 1 with the reply, 0 when none was
 * asked for, -1 with *e set when the reply is an error.  Only a stat is given more than once. */
int share_ahead_stat(const struct share_dir *at, const char *path, struct share_stat *st,
                     struct err *e);
int share_ahead_list(const struct share_dir *at, const char *path, struct arena *a,
                     struct list *entries /* struct sftp_entry */, struct err *e);
/* *content: the content of a file, or the target of a symlink. */
int share_ahead_content(const struct share_dir *at, const char *path, struct buf *content,
                        struct err *e);

#endif

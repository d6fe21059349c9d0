/* SPDX-License-Identifier: MIT */
/*
 * share_internal.h - what the files of common/share have in common
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H
#define LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H

#include <sys/stat.h>

#include "common/sftp/sftp.h"
#include "common/share/share.h"

/* A connection to the machine of a share: it lives as long as somebody keeps it, or has a folder
 * open. */
struct share_line {
    struct share_source source;
    struct sftp *sftp;
    char *name;                /* of the share */
    char *root;                /* on the server: what paths are relative to */
    size_t n_users;            /* folders, and the struct shares that keeps it */
    struct share_ahead *ahead; /* answers that were asked for before they are needed, or NULL */
    bool is_connected; /* the source gave the descriptor, and wants to know when it is closed */
    bool is_borrowed;  /* sftp belongs to who opened the share */
    bool has_warned;
};

struct share_dir {
    int fd;                  /* of a mounted folder; -1: over SFTP */
    char *path;              /* on the server; of a mounted folder for people, or NULL */
    struct share_line *line; /* over SFTP */
    bool is_client;          /* share_open_mount or share_open_sftp: see the top of share.h */
};

/* Of a path below the folder, on the server; the caller frees it. */
char *share_sftp_path(const struct share_dir *at, const char *path);
struct share_stat share_stat_of_attrs(const struct sftp_attrs *attrs);
/* Of a file or folder that is open here.  Where files have no owner of their own (CIFS), their server
 * gives them modes as well, and that is no error.  -1 with errno. */
int share_set_mode(int fd, mode_t mode);
/* Refuses what a client may not be told by a server. */
int share_check_path(const struct share_dir *at, const char *path, struct err *e);
/* Hands an error of the SFTP client on: one by which callers would decide wrongly becomes another. */
int share_sftp_fail(const struct err *why, struct err *e);
/* The same of an error that e holds already.  Frees full; NULL is fine.  result. */
int share_sftp_end(int result, char *full, struct err *e);

/* ---- share_file.c ---- */

/* Copies the rest of in_fd, at this offset; *n_bytes: how much that was.  hasher: gets all of it, too;
 * NULL is fine. */
int share_sftp_pour(struct sftp_file *to, uint64_t offset, int in_fd, uint64_t max_bytes,
                    struct hasher *hasher, uint64_t *n_bytes, struct err *e);

/* ---- share_sync.c ---- */

/* 0 or errno; file systems that cannot sync and need not are fine. */
int share_sync_fd(int fd);

/* ---- share_ahead.c ---- */

void share_ahead_free(struct share_ahead *h);
/* Each waits for an answer on its way, which is handed out once: 1 with it, 0: none is, -1 with e
 * set: it is an error. */
int share_ahead_stat(const struct share_dir *at, const char *path, struct share_stat *st,
                     struct err *e);
int share_ahead_list(const struct share_dir *at, const char *path, struct arena *a,
                     struct list *entries /* struct sftp_entry */, struct err *e);
/* Of a file what is in it, of a link where it points. */
int share_ahead_content(const struct share_dir *at, const char *path, struct buf *content,
                        struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * share_internal.h - structs and functions for the files of common/share alone
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H
#define LUDWIG_COMMON_SHARE_SHARE_INTERNAL_H

#include <sys/stat.h>

#include "common/sftp/sftp.h"
#include "common/share/share.h"

/* A connection to a share's machine; lives as long as a struct shares keeps it or a folder is
 * open. */
struct share_line {
    struct share_source source;
    struct sftp *sftp;
    char *name;                /* of the share */
    char *root;                /* folder on the server to which paths are relative */
    size_t n_users;            /* folders, and the struct shares that keeps it */
    struct share_ahead *ahead; /* answers asked for before they are needed, or NULL */
    bool is_connected;         /* the source gave the descriptor and is told when it is closed */
    bool is_borrowed;          /* sftp belongs to the opener of the share */
    bool has_warned;
};

struct share_dir {
    int fd;                  /* of a mounted folder; -1: over SFTP */
    char *path;              /* on the server; of a mounted folder: for people, or NULL */
    struct share_line *line; /* over SFTP */
    bool is_client;          /* share_open_mount or share_open_sftp: see the top of share.h */
};

/*
 * Opens what lies below a mounted folder: for a client as the top of share.h says, for others
 * through no symlink.  mode counts with O_CREAT.  -1 with errno.
 */
int share_open_below(const struct share_dir *at, const char *path, int flags, mode_t mode);
/* The server's path of a path below the folder; the caller frees it. */
char *share_sftp_path(const struct share_dir *at, const char *path);
struct share_stat share_stat_of_attrs(const struct sftp_attrs *attrs);
/* Sets the mode of an open file or folder.  0 also on file systems such as CIFS, where the server
 * chooses owners and modes.  -1 with errno. */
int share_set_mode(int fd, mode_t mode);
/* Refuses a path that a server may not give to a client. */
int share_check_path(const struct share_dir *at, const char *path, struct err *e);
/* Copies an error of the SFTP client to e; a kind that callers would misunderstand becomes
 * another. */
int share_sftp_fail(const struct err *why, struct err *e);
/* The same for an error that e holds already, if result is -1.  Frees full; NULL is fine.  Returns
 * result. */
int share_sftp_end(int result, char *full, struct err *e);

/* ---- share_file.c ---- */

/* Copies up to max_bytes of the rest of in_fd to this offset; *n_bytes: how many.  hasher gets
 * these bytes, too; NULL is fine. */
int share_sftp_pour(struct sftp_file *to, uint64_t offset, int in_fd, uint64_t max_bytes,
                    struct hasher *hasher, uint64_t *n_bytes, struct err *e);

/* ---- share_sync.c ---- */

/* 0 or errno; file systems that cannot sync and need not are fine. */
int share_sync_fd(int fd);

/* ---- share_ahead.c ---- */

void share_ahead_free(struct share_ahead *h);
/* Each waits for an answer on its way, and gives each answer but a stat once: 1 with the answer, 0:
 * none was asked for, -1 with e set: the answer is an error. */
int share_ahead_stat(const struct share_dir *at, const char *path, struct share_stat *st,
                     struct err *e);
int share_ahead_list(const struct share_dir *at, const char *path, struct arena *a,
                     struct list *entries /* struct sftp_entry */, struct err *e);
/* The content of a file, the target of a link. */
int share_ahead_content(const struct share_dir *at, const char *path, struct buf *content,
                        struct err *e);

#endif

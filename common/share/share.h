/* SPDX-License-Identifier: MIT */
/*
 * share.h - the shared drive, however it is reached
 *
 * Whoever publishes, stages or keeps checkpoints works on open folders of the share and on paths
 * below them, and does not know whether the share is mounted here (share_mount.c) or reached
 * over SFTP (share_sftp.c).
 *
 * What went wrong is told by the kind of the error: ERR_NOT_FOUND, nothing has that name;
 * ERR_EXISTS, something has it already; ERR_DENIED; ERR_NO_SPACE; ERR_USAGE, it is no file.
 * Any other: the share is away, as it were, and the whole is to be tried again later.
 */
#ifndef LUDWIG_WORKER_SHARE_SHARE_H
#define LUDWIG_WORKER_SHARE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"

/* ---- shares and folders ---- */

/* Where connections to ludwigd's machine come from. */
struct share_source {
    int (*connect)(void *context, struct err *e); /* to an SFTP server: a descriptor, or -1 */
    void (*leave)(void *context);                 /* one was closed; NULL: nobody wants to know */
    void *context;
    int64_t rest_ms; /* one that is not used for so long is ended; 0: a minute */
};

/* The shares that a thread works with.  A connection stays for the next one who wants it. */
struct shares;
struct shares *shares_create(const struct share_source *source); /* NULL: mounts are all there is */
void shares_destroy(struct shares *s); /* NULL is fine; after all folders */
/* Until shares_rest will end the connection; -1: there is none, or it is in use. */
int64_t shares_rest_ms(const struct shares *s);
void shares_rest(struct shares *s);

/* An open folder. */
struct share_dir;

/* The name of a share is the path of its mount here or, where it has none,
 * "sftp:SERVER_ID:PROJECTS:PATH": as ludwigd sees it, and the folder below it where projects lie
 * (may be ""), which is what paths are relative to. */
char *share_sftp_name(const char *server_id, const char *projects, const char *path);
bool share_is_mounted(const char *name);

/* NULL with e set. */
struct share_dir *share_open(struct shares *s, const char *name, struct err *e);
struct share_dir *share_open_dir(const struct share_dir *at, const char *path, struct err *e);
void share_close(struct share_dir *d); /* NULL is fine */

/* Its descriptor, for what only the kernel can do; -1: it is not mounted. */
int share_fd(const struct share_dir *d);

/* ---- names ---- */

enum share_type { SHARE_FILE, SHARE_FOLDER, SHARE_LINK, SHARE_OTHER };

struct share_stat {
    enum share_type type;
    mode_t mode; /* with set-group-id and the like */
    gid_t group;
    int64_t size_bytes;
};

/* Of a symlink itself; path "": of the folder. */
int share_stat(const struct share_dir *at, const char *path, struct share_stat *st, struct err *e);
bool share_exists(const struct share_dir *at, const char *path);
/* Every name in the folder; what is made or removed meanwhile may be among them. */
int share_list(const struct share_dir *d, void (*each)(void *context, const char *name),
               void *context, struct err *e);
/* mode: 0755, 02750, ..., whatever the umask; what the folder above gives a new one stays. */
int share_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e);
int share_remove_file(const struct share_dir *at, const char *path, struct err *e);
int share_remove_dir(const struct share_dir *at, const char *path, struct err *e); /* empty */
/* All of it; a missing name is fine. */
int share_remove_tree(const struct share_dir *at, const char *path, struct err *e);
/* Never takes the place of a folder with something in it: ERR_EXISTS. */
int share_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                 const char *to_path, struct err *e);

/* ---- small files ---- */

/* Appends up to max_bytes of it to out. */
int share_read(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
               struct err *e);
/* Creates the file, or replaces it in place. */
int share_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                mode_t mode, struct err *e);
/* Brings a log, made if need be, up to where this file ends. Two may do so at the same time. */
int share_ship(const struct share_dir *at, const char *path, mode_t mode, int from_fd,
               struct err *e);

/* ---- trees ---- */

/* Something to be copied: a folder before what is in it. */
struct share_item {
    enum share_type type;        /* of the first three */
    const char *from;            /* below the folder it comes from */
    const char *to;              /* below the folder it goes to */
    mode_t mode;                 /* of files and folders, there */
    int64_t size_bytes;          /* of a file */
    const char *target;          /* out: of a symlink that could not be made, to be freed */
    const struct digest *digest; /* of a file's content, which is checked; NULL: it is not known */
};

/* Copies what lies in this folder to the share, many files at a time.  Symlinks that it cannot hold are
 * left out.  Where the share is mounted the files are durable then, unless one share_sync does for all;
 * an SFTP server is quicker when it is asked for that later. */
int share_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                  struct err *e);
/* The other way round, files and folders only.  ERR_PROTOCOL: a file is not of that size. */
int share_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                   size_t n, struct err *e);

/* ---- a large file, piece by piece ---- */

struct share_file;
/* A new one; NULL with e set. */
struct share_file *share_create(const struct share_dir *at, const char *path, mode_t mode,
                                struct err *e);
/* Writes max_bytes of the rest or, where that costs nothing, all of it; *n_bytes is 0 at the end.
 * Pieces do not pile up in memory, where who syncs another file would have to wait for them. */
int share_put(struct share_file *f, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
              struct err *e);
/* Also says what a full or lost share says only now.  e NULL: it is not wanted any more. */
int share_end(struct share_file *f, struct err *e);

/* The other way round: to be read from here to its end.  Not through a symlink; ERR_USAGE: it is no
 * plain file. */
struct share_input;
struct share_input *share_open_input(const struct share_dir *at, const char *path, uint64_t offset,
                                     struct err *e);
/* Up to n bytes of what follows; 0 at the end. */
ssize_t share_read_input(struct share_input *in, void *bytes, size_t n, struct err *e);
void share_close_input(struct share_input *in); /* NULL is fine */

/* ---- making it durable ---- */

/* One share_sync does for all that was written there. */
bool share_is_synced_whole(const struct share_dir *d);
int share_sync(const struct share_dir *d, struct err *e);

/* Elsewhere each file and folder, many at a time. */
struct share_sync {
    const struct share_dir *dir;
    const char *path;
    int error; /* out: errno, 0 when it is durable */
};
void share_sync_each(struct share_sync *files, size_t n);

/* A folder's own entries; where that cannot and need not be, fine. */
int share_sync_dir(const struct share_dir *d, const char *name, struct err *e);

#endif

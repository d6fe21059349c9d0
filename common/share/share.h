/* SPDX-License-Identifier: MIT */
/*
 * share.h - the shared drive, however it is reached
 *
 * One interface with two backends: the drive is mounted on this machine, or reached over SFTP.
 * Programs work on open folders of the drive and on paths below them, and do not know which it is.
 *
 * There are two ways to begin.  An agent's child opens a share by the name that its order gives
 * (share_open): connections are made when they are needed, and kept for a while.  A client opens a
 * folder of this machine (share_open_mount) or of a connection that it has (share_open_sftp).  Its
 * paths come from a server, so they are checked: one that leads out of the folder is refused with
 * ERR_PROTOCOL.  Also, a file is found that another machine made a moment ago, and a symlink in the
 * middle of a path is followed, as the user's own rights are all that there is to lose.
 *
 * The kind of an error tells what went wrong: ERR_NOT_FOUND, nothing has that name; ERR_EXISTS,
 * something has it already; ERR_DENIED; ERR_NO_SPACE; ERR_USAGE, it is no file.  Any other: the
 * share cannot be reached at the moment, and the whole is to be tried again later.
 *
 * Functions block.  A share_dir and all that was opened below it belong to one thread.
 */
#ifndef LUDWIG_COMMON_SHARE_SHARE_H
#define LUDWIG_COMMON_SHARE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/schema.h"

struct sftp;

/* ---- shares and folders ---- */

/* Where connections to the machine of ludwigd come from. */
struct share_source {
    int (*connect)(void *context, struct err *e); /* to an SFTP server: a descriptor, or -1 */
    void (*leave)(void *context);                 /* a connection was closed; may be NULL */
    void *context;
    int64_t rest_ms; /* a connection that is not used for so long is ended; 0: a minute */
};

/* The shares that a thread works with.  A connection is kept for the next share_open. */
struct shares;
struct shares *shares_create(const struct share_source *source); /* NULL: only mounted shares */
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
struct share_dir *share_open_mount(const char *root, struct err *e);
/* root: "" or an absolute path on the server.  s stays the caller's and must stand longer. */
struct share_dir *share_open_sftp(struct sftp *s, const char *root);
struct share_dir *share_open_dir(const struct share_dir *at, const char *path, struct err *e);
void share_close(struct share_dir *d); /* NULL is fine */

/* Its descriptor, for what only the kernel can do; -1: it is reached over SFTP. */
int share_fd(const struct share_dir *d);
/* Where that is, for people; the caller frees it. */
char *share_where(const struct share_dir *d, const char *path);

/* ---- names ---- */

enum share_type { SHARE_FILE, SHARE_FOLDER, SHARE_LINK, SHARE_OTHER };

struct share_stat {
    enum share_type type;
    mode_t mode; /* with set-group-id and the like */
    gid_t group; /* (gid_t)-1 over SFTP: groups have other numbers there */
    int64_t uid; /* of the owner, as the machine of the share numbers users */
    int64_t size_bytes;
    int64_t mtime_s; /* since 1970 */
};

struct share_entry {
    const char *name;
    struct share_stat stat;
};

/* SHARE_NAMES: in no order, and where it would cost one question for each, of stat nothing is told.
 * SHARE_STATS: sorted by name; what is removed meanwhile is left out. */
enum share_detail { SHARE_NAMES, SHARE_STATS };

/* Of a symlink itself; path "": of the folder. */
int share_stat(const struct share_dir *at, const char *path, struct share_stat *st, struct err *e);
bool share_exists(const struct share_dir *at, const char *path);
/* What is made or removed meanwhile may be among them; in the arena.  path "": the folder itself. */
int share_list(const struct share_dir *at, const char *path, enum share_detail detail,
               struct arena *a, struct list *entries /* struct share_entry */, struct err *e);
/* Where a symlink points; the caller frees it.  NULL with e set. */
char *share_read_link(const struct share_dir *at, const char *path, struct err *e);
/* mode: 0755, 02750, ..., whatever the umask; what the folder above gives a new one stays. */
int share_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e);
/* As a user who may: a folder's owner gives it to a group (-1: as it is) and sets its mode.  path is no
 * symlink. */
int share_set_folder(const struct share_dir *at, const char *path, int64_t group, mode_t mode,
                     struct err *e);
int share_remove_file(const struct share_dir *at, const char *path, struct err *e);
int share_remove_dir(const struct share_dir *at, const char *path, struct err *e); /* empty */
/* All of it; a missing name is fine. */
int share_remove_tree(const struct share_dir *at, const char *path, struct err *e);
/* Replaces a file.  Never takes the place of a folder with something in it: ERR_EXISTS. */
int share_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                 const char *to_path, struct err *e);

/* The name of a file that has no final name yet; the caller frees it. */
char *share_temporary_name(void);
bool share_is_temporary(const char *name);

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

/* ---- many at a time: over SFTP they take as long as one ---- */

struct share_look {
    const char *path;
    struct share_stat stat; /* out, unless it lists */
    struct list entries;    /* out, where it lists: struct share_entry, in no order, in the arena */
    struct err why;         /* out: ERR_NONE, or why it is not known */
    bool lists;             /* what is in the folder; else what the path is itself */
};
/* wants_stat: of which entries more is to be known than the name; NULL: of all.  A server may tell of
 * others, too. */
void share_look(const struct share_dir *at, struct share_look *looks, size_t n,
                bool (*wants_stat)(const char *name), struct arena *a);

/* A whole small file: got is called with it, or with what went wrong (ERR_USAGE: it is larger), by
 * share_fetch_all at the latest. */
typedef void share_got(void *context, const struct err *error, struct bytes content);
int share_fetch(const struct share_dir *at, const char *path, size_t max_bytes, share_got *got,
                void *context, struct err *e);
int share_fetch_all(const struct share_dir *at, struct err *e);

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
 * Pieces do not pile up in memory: another process that syncs a file would have to wait for them. */
int share_put(struct share_file *f, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
              struct err *e);
/* Frees f and tells the errors that a full or lost share tells only now.  e NULL: the file is not
 * wanted any more. */
int share_end(struct share_file *f, struct err *e);

/* A file to be read from this offset on.  Its last name is no symlink; ERR_USAGE: it is no plain
 * file. */
struct share_input;
struct share_input *share_open_input(const struct share_dir *at, const char *path, uint64_t offset,
                                     struct err *e);
/* Up to n bytes of what follows, fewer at the end of the file only, which may have grown by the next
 * call; 0 at the end. */
ssize_t share_read_input(struct share_input *in, void *bytes, size_t n, struct err *e);
/* The next read begins there. */
void share_seek_input(struct share_input *in, int64_t offset);
int share_input_size(struct share_input *in, int64_t *size_bytes, struct err *e);
void share_close_input(struct share_input *in); /* NULL is fine */

/* A descriptor that becomes readable when the file grows; share_watch_drain makes it wait again, and
 * close(2) ends it.  -1: nothing tells of changes here (a network file system, SFTP). */
int share_watch(const struct share_dir *at, const char *path);
void share_watch_drain(int fd);

/* ---- reading ahead ---- */

/*
 * What is at the path, and all below it, will be read soon.  Over SFTP, where each question takes a
 * round trip, the answers are asked for now, and files as far as wanted says so (NULL: all) and
 * memory allows; share_stat, share_list, share_read_link and share_open_input take them.  wanted is
 * called from within other functions too.  A mounted share does nothing: the kernel reads ahead.
 */
typedef bool share_wanted(void *context, const char *path, const struct share_stat *st);
void share_ahead(const struct share_dir *at, const char *path, share_wanted *wanted, void *context);
/* It will not be read after all. */
void share_forget(const struct share_dir *at, const char *path);

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

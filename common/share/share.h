/* SPDX-License-Identifier: MIT */
/*
 * share.h - the shared drive, however it is reached
 *
 * One interface with two backends: the drive is mounted on this machine, or reached over SFTP.
 * Programs work on open folders of the drive and on paths below them, and do not know which backend
 * serves them.
 *
 * There are two ways to open a share:
 *
 * - A child process of the agent calls share_open with the share's name from its order.  The
 *   connection is made when it is needed, and kept for a while.  Symlinks below the share are not
 *   followed (ERR_DENIED): other users may write to a project, too, and could otherwise lead the
 *   child's files into another folder of the child's user.  Over SFTP only the last name of a path
 *   and new files are protected so; the server follows symlinks in the middle of a path.
 * - A client calls share_open_mount for a folder of this machine, or share_open_sftp for a folder
 *   of a connection that it has.  A server chose the client's paths, so each path is checked, and a
 *   path that leads out of the folder is refused with ERR_PROTOCOL.  A file that another machine
 *   made a moment ago is found.  A symlink in the middle of a path is followed, as it can give no
 *   more than the user's own rights.
 *
 * Functions return -1 or NULL with *e set.  Kinds of errors: ERR_NOT_FOUND: the name does not
 * exist; ERR_EXISTS: the name is taken; ERR_DENIED; ERR_NO_SPACE; ERR_USAGE (for a client
 * ERR_FAILED): the path is no plain file.  Any other kind: the share cannot be reached at the
 * moment, and the caller tries all of its work again later.
 *
 * Functions block.  A share_dir and everything opened below it belong to one thread.
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

/* Makes connections to ludwigd's machine. */
struct share_source {
    int (*connect)(void *context, struct err *e); /* to an SFTP server: a descriptor, or -1 */
    void (*leave)(void *context);                 /* a connection was closed; may be NULL */
    void *context;
    int64_t rest_ms; /* an unused connection is ended after this time; 0: after a minute */
};

/* The shares that a thread works with, and the connection kept for the next share_open. */
struct shares;
struct shares *shares_create(const struct share_source *source); /* NULL: only mounted shares */
void shares_destroy(struct shares *s); /* NULL is fine; close all folders before */
/* Time until shares_rest would end the connection; -1: no connection, or it is in use. */
int64_t shares_rest_ms(const struct shares *s);
/* Ends the kept connection if it was not used for rest_ms. */
void shares_rest(struct shares *s);

/* An open folder. */
struct share_dir;

/* Makes the name of a share that is not mounted here: "sftp:SERVER_ID:PROJECTS:PATH".  PATH is the
 * share's path on ludwigd's machine, PROJECTS the folder below PATH to which paths are relative
 * (may be "").  The name of a mounted share is the path of its mount.  The caller frees it. */
char *share_sftp_name(const char *server_id, const char *projects, const char *path);
bool share_is_mounted(const char *name);

/* These return an open folder, to be closed with share_close. */
struct share_dir *share_open(struct shares *s, const char *name, struct err *e);
struct share_dir *share_open_mount(const char *root, struct err *e);
/* root: "" or an absolute path on the server.  s stays the caller's and must outlive the folder. */
struct share_dir *share_open_sftp(struct sftp *s, const char *root);
struct share_dir *share_open_dir(const struct share_dir *at, const char *path, struct err *e);
/* name: a single name without '/'.  ERR_DENIED: it is no folder, or is a symlink to one. */
struct share_dir *share_enter(const struct share_dir *at, const char *name, struct err *e);
void share_close(struct share_dir *d); /* NULL is fine */

/* The folder's descriptor, for direct system calls; -1: the folder is reached over SFTP. */
int share_fd(const struct share_dir *d);
/* The whole path of `path` below d, for messages to people; the caller frees it. */
char *share_where(const struct share_dir *d, const char *path);

/* ---- names ---- */

enum share_type { SHARE_FILE, SHARE_FOLDER, SHARE_LINK, SHARE_OTHER };

struct share_stat {
    enum share_type type;
    mode_t mode; /* permissions, set-group-id and the like, without the type */
    gid_t group; /* (gid_t)-1 over SFTP: the server's gids differ from those of this machine */
    int64_t uid; /* the owner's uid on the share's machine */
    int64_t size_bytes;
    int64_t mtime_s; /* since 1970 */
};

struct share_entry {
    const char *name;
    struct share_stat stat;
};

/* SHARE_NAMES: entries come in no order, and stat is set only where the listing itself has it.
 * SHARE_STATS: entries are sorted by name and have their stat; entries that were removed during the
 * listing are left out. */
enum share_detail { SHARE_NAMES, SHARE_STATS };

/* Fills *st; for a symlink with the link's own values.  path "": the folder `at`. */
int share_stat(const struct share_dir *at, const char *path, struct share_stat *st, struct err *e);
bool share_exists(const struct share_dir *at, const char *path);
/* Lists a folder into the arena; path "": the folder `at`.  An entry that is made or removed during
 * the listing may be in it or not. */
int share_list(const struct share_dir *at, const char *path, enum share_detail detail,
               struct arena *a, struct list *entries /* struct share_entry */, struct err *e);
/* The target of a symlink; the caller frees it.  NULL with e set. */
char *share_read_link(const struct share_dir *at, const char *path, struct err *e);
/* Makes a folder with this mode (0755, 02750, ...), whatever the umask.  A set-group-id bit that
 * the folder gets from its parent stays.  ERR_EXISTS: the name is taken. */
int share_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e);
/* Sets a folder's group (a gid; -1: leaves it) and mode.  Only the folder's owner may do this.  A
 * symlink as the last name of path is refused. */
int share_set_folder(const struct share_dir *at, const char *path, int64_t group, mode_t mode,
                     struct err *e);
/* Sets only the mode, of a path that share_stat or share_look has just shown to be a folder: over
 * SFTP that takes one round trip.  -1 when the path is no folder any more. */
int share_set_folder_mode(const struct share_dir *at, const char *path, mode_t mode, struct err *e);
int share_remove_file(const struct share_dir *at, const char *path, struct err *e);
int share_remove_dir(const struct share_dir *at, const char *path, struct err *e); /* empty */
/* Removes a folder with all its content, or a file; a missing name is no error. */
int share_remove_tree(const struct share_dir *at, const char *path, struct err *e);
/* Renames path to to_path below `to`.  An existing file there is replaced; an existing folder that
 * is not empty is not (ERR_EXISTS). */
int share_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                 const char *to_path, struct err *e);

/* A random name for a file that has no final name yet; the caller frees it. */
char *share_temporary_name(void);
bool share_is_temporary(const char *name);

/* ---- small files ---- */

/* Appends the first bytes of a file, max_bytes at most, to out. */
int share_read(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
               struct err *e);
/* Makes a new file with these n bytes; an existing file or symlink of that name is removed
 * before. */
int share_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                mode_t mode, struct err *e);
/* Bytes that a log is to have. */
struct share_part {
    int fd;            /* the file that has them; -1: there is none */
    int64_t begin;     /* the log's byte that is the file's first */
    int64_t max_bytes; /* of the file; 0: all of it */
};
/* Makes the log at path as long as the part's end: appends what the part has beyond the log's end.
 * What lies before the part was shipped before (ERR_FAILED: the log is shorter).  A missing log is
 * made, empty if there is no file.  Two processes may ship the same log at once. */
int share_ship(const struct share_dir *at, const char *path, mode_t mode,
               const struct share_part *part, struct err *e);

/* ---- many requests at a time: over SFTP they take as long as one ---- */

struct share_look {
    const char *path;
    struct share_stat stat; /* out, unless lists is set */
    struct list entries;    /* out, if lists: struct share_entry, in no order, in the arena */
    struct err why;         /* out: ERR_NONE, or why the look failed */
    bool lists;             /* ask for the folder's entries instead of stat */
};
/* Carries out n looks at once.  wants_stat tells whether an entry of this name needs its stat;
 * NULL: all entries do.  Other entries may have their stat, too. */
void share_look(const struct share_dir *at, struct share_look *looks, size_t n,
                bool (*wants_stat)(const char *name), struct arena *a);

/* share_fetch asks for a whole small file.  got is called with the file's content, which lasts
 * until got returns, or with an error (ERR_USAGE: the file is larger than max_bytes): during
 * share_fetch, a later call, or share_fetch_all at the latest.  -1: got is not called. */
typedef void share_got(void *context, const struct err *error, struct bytes content);
int share_fetch(const struct share_dir *at, const char *path, size_t max_bytes, share_got *got,
                void *context, struct err *e);
int share_fetch_all(const struct share_dir *at, struct err *e);

/* ---- trees ---- */

/* An entry to copy; a folder comes before its entries. */
struct share_item {
    enum share_type type;        /* not SHARE_OTHER; share_copy_out takes no SHARE_LINK */
    const char *from;            /* path below the source folder */
    const char *to;              /* path below the target folder */
    mode_t mode;                 /* of the copy of a file or folder */
    int64_t size_bytes;          /* of a file */
    const char *target;          /* out: of a symlink that could not be made; caller frees */
    const struct digest *digest; /* share_copy_in checks a file's content; NULL: not known */
};

/* Copies items of the folder from_fd to the share, many files at a time.  A symlink that the share
 * cannot hold is left out, and its item's target is set.  ERR_FAILED: a file changed meanwhile.
 * On a mounted share the copied files are durable afterwards, unless share_is_synced_whole; over
 * SFTP they are not, as it is quicker to sync them later. */
int share_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                  struct err *e);
/* Copies files and folders from the share into the folder to_fd.  ERR_PROTOCOL: a file does not
 * have its size, or is no plain file. */
int share_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                   size_t n, struct err *e);

/* ---- a large file, piece by piece ---- */

struct share_file;
/* Creates a new file; ERR_EXISTS: the name is taken. */
struct share_file *share_create(const struct share_dir *at, const char *path, mode_t mode,
                                struct err *e);
/* Writes the next bytes of from_fd, max_bytes at most, or all of the rest where a reflink costs
 * nothing.  *n_bytes: how many were written; 0 at the end of from_fd.  Written pieces go to the
 * disk soon and do not pile up in memory, where another process's sync would wait for them. */
int share_put(struct share_file *f, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
              struct err *e);
/* Closes the file and frees f in any case.  -1: closing reported an error, as of a full or lost
 * share. */
int share_end(struct share_file *f, struct err *e);

/* Opens a file for reading from this offset on.  The last name of path may not be a symlink. */
struct share_input;
struct share_input *share_open_input(const struct share_dir *at, const char *path, uint64_t offset,
                                     struct err *e);
/* Reads the next n bytes and returns how many it read: fewer only at the end of the file, 0 at the
 * end, -1 with *e set.  When the file has grown, a later call reads on. */
ssize_t share_read_input(struct share_input *in, void *bytes, size_t n, struct err *e);
/* Sets the offset of the next read. */
void share_seek_input(struct share_input *in, int64_t offset);
/* Moves the offset of the next read past a hole, if the file system reports one there; returns the
 * offset. */
int64_t share_skip_hole(struct share_input *in);
int share_input_size(struct share_input *in, int64_t *size_bytes, struct err *e);
void share_close_input(struct share_input *in); /* NULL is fine */

/* Returns a descriptor that becomes readable when the file is written to.  share_watch_drain makes
 * it wait for the next write; the caller closes it with close(2).  -1: the file cannot be watched
 * (a network file system, SFTP, a folder that was not opened by share_open_mount). */
int share_watch(const struct share_dir *at, const char *path);
void share_watch_drain(int fd);

/* ---- reading ahead ---- */

/*
 * Announces that the path and everything below it will be read soon.  Over SFTP, where each request
 * takes a round trip, share_ahead sends the requests now: for stats, entries of folders, targets of
 * symlinks, and the content of small files, as far as memory allows.  share_stat, share_list,
 * share_read_link and share_open_input then use the replies.  wanted returns whether a file's
 * content is wanted (wanted NULL: of all files); later calls of other functions call it, too.  On a
 * mounted share share_ahead does nothing, as the kernel reads ahead.
 */
typedef bool share_wanted(void *context, const char *path, const struct share_stat *st);
void share_ahead(const struct share_dir *at, const char *path, share_wanted *wanted, void *context);
/* Drops the reply for this path, which will not be read after all. */
void share_forget(const struct share_dir *at, const char *path);

/* ---- making it durable ---- */

/* Whether one share_sync makes all files on the share durable. */
bool share_is_synced_whole(const struct share_dir *d);
int share_sync(const struct share_dir *d, struct err *e);

/* On other shares share_sync_each makes each of n files and folders durable, many at a time. */
struct share_sync {
    const struct share_dir *dir;
    const char *path;
    int error; /* out: 0 when the file is durable, else an errno */
};
void share_sync_each(struct share_sync *files, size_t n);

/* Makes the entries of folder d durable; name is d's name for the error.  0 also where the file
 * system cannot sync folders and need not. */
int share_sync_dir(const struct share_dir *d, const char *name, struct err *e);

#endif

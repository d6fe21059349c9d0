/* SPDX-License-Identifier: MIT */
/*
 * share.h - the shared drive, however it is reached
 *
 * One interface with two backends: the drive is mounted on this machine, or reached over SFTP.
 * Programs work on open folders of the drive and on paths below them, and do not know which it is.
 *
 * There are two ways to begin.  An agent's child opens a share by the name that its order gives
 * (share_open): connections are made when they are needed, and kept for a while.  No symlink below
 * the share is followed (ERR_DENIED), as others may write to a project, too, and what the child makes
 * must not land in another folder of its user.  Over SFTP that holds for the last name of a path and
 * for new files; the server follows what lies on the way.  A client opens a folder of this machine
 * (share_open_mount) or of a connection that it has (share_open_sftp).  Its paths come from a server,
 * so they are checked: one that leads out of the folder is refused with ERR_PROTOCOL.  Also, a file
 * is found that another machine made a moment ago, and a symlink in the middle of a path is
 * followed, as it can give no more than the user's own rights.
 *
 * Kinds of errors: ERR_NOT_FOUND: nothing has that name; ERR_EXISTS: the name is taken; ERR_DENIED;
 * ERR_NO_SPACE; ERR_USAGE: the path is no plain file.  Any other: the share cannot be reached at
 * the moment, and the whole work is to be tried again later.
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

/* Makes connections to ludwigd's machine. */
struct share_source {
    int (*connect)(void *context, struct err *e); /* to an SFTP server: a descriptor, or -1 */
    void (*leave)(void *context);                 /* a connection was closed; may be NULL */
    void *context;
    int64_t rest_ms; /* a connection not used for this long is ended; 0: a minute */
};

/* The shares that a thread works with.  A connection is kept for the next share_open. */
struct shares;
struct shares *shares_create(const struct share_source *source); /* NULL: only mounted shares */
void shares_destroy(struct shares *s); /* NULL is fine; after all folders */
/* Time until shares_rest would end the connection; -1: there is none, or it is in use. */
int64_t shares_rest_ms(const struct shares *s);
void shares_rest(struct shares *s);

/* An open folder. */
struct share_dir;

/* The name of a share is the path of its mount here or, where it has none,
 * "sftp:SERVER_ID:PROJECTS:PATH": PATH is the share's path for ludwigd, PROJECTS the folder below
 * it where projects lie (may be ""), to which paths are relative. */
char *share_sftp_name(const char *server_id, const char *projects, const char *path);
bool share_is_mounted(const char *name);

/* NULL with e set. */
struct share_dir *share_open(struct shares *s, const char *name, struct err *e);
struct share_dir *share_open_mount(const char *root, struct err *e);
/* root: "" or an absolute path on the server.  s stays the caller's and must outlive the folder. */
struct share_dir *share_open_sftp(struct sftp *s, const char *root);
struct share_dir *share_open_dir(const struct share_dir *at, const char *path, struct err *e);
/* The folder of that name, which is one name and no symlink. */
struct share_dir *share_enter(const struct share_dir *at, const char *name, struct err *e);
void share_close(struct share_dir *d); /* NULL is fine */

/* The folder's descriptor, for direct system calls; -1: the folder is reached over SFTP. */
int share_fd(const struct share_dir *d);
/* The whole path, for people; the caller frees it. */
char *share_where(const struct share_dir *d, const char *path);

/* ---- names ---- */

enum share_type { SHARE_FILE, SHARE_FOLDER, SHARE_LINK, SHARE_OTHER };

struct share_stat {
    enum share_type type;
    mode_t mode; /* with set-group-id and the like */
    gid_t group; /* (gid_t)-1 over SFTP: groups have other numbers there */
    int64_t uid; /* of the owner, in the numbers of the share's machine */
    int64_t size_bytes;
    int64_t mtime_s; /* since 1970 */
};

struct share_entry {
    const char *name;
    struct share_stat stat;
};

/* SHARE_NAMES: in no order, and stat is not filled where that would take a question for each entry.
 * SHARE_STATS: sorted by name; entries removed meanwhile are left out. */
enum share_detail { SHARE_NAMES, SHARE_STATS };

/* Fills *st; of a symlink it tells of the link itself.  path "": the folder. */
int share_stat(const struct share_dir *at, const char *path, struct share_stat *st, struct err *e);
bool share_exists(const struct share_dir *at, const char *path);
/* Lists a folder, in the arena; path "": the folder itself.  Entries made or removed meanwhile may
 * be among them. */
int share_list(const struct share_dir *at, const char *path, enum share_detail detail,
               struct arena *a, struct list *entries /* struct share_entry */, struct err *e);
/* The target of a symlink; the caller frees it.  NULL with e set. */
char *share_read_link(const struct share_dir *at, const char *path, struct err *e);
/* mode: 0755, 02750, ..., whatever the umask; a setgid bit from the folder above stays. */
int share_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e);
/* Sets the group of a folder (-1: as it is) and its mode, which its owner may.  path is no
 * symlink. */
int share_set_folder(const struct share_dir *at, const char *path, int64_t group, mode_t mode,
                     struct err *e);
int share_remove_file(const struct share_dir *at, const char *path, struct err *e);
int share_remove_dir(const struct share_dir *at, const char *path, struct err *e); /* empty */
/* Removes a folder and all in it, or a file; a missing name is fine. */
int share_remove_tree(const struct share_dir *at, const char *path, struct err *e);
/* Replaces a file, but not a folder that is not empty: ERR_EXISTS. */
int share_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                 const char *to_path, struct err *e);

/* A new name for a file that has no final name yet; the caller frees it. */
char *share_temporary_name(void);
bool share_is_temporary(const char *name);

/* ---- small files ---- */

/* Appends up to max_bytes of a file to out. */
int share_read(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
               struct err *e);
/* Makes a new file; one that has the name is removed before. */
int share_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                mode_t mode, struct err *e);
/* Appends to a log, made if need be, what from_fd has beyond its end.  Two processes may ship the
 * same log at once. */
int share_ship(const struct share_dir *at, const char *path, mode_t mode, int from_fd,
               struct err *e);

/* ---- many questions at a time: over SFTP they take as long as one ---- */

struct share_look {
    const char *path;
    struct share_stat stat; /* out, unless lists is set */
    struct list entries;    /* out, if lists: struct share_entry, in no order, in the arena */
    struct err why;         /* out: ERR_NONE, or why the look failed */
    bool lists;             /* ask for the folder's entries instead of stat */
};
/* wants_stat: whether an entry of this name needs its stat; NULL: all need it.  Other entries may
 * have one, too. */
void share_look(const struct share_dir *at, struct share_look *looks, size_t n,
                bool (*wants_stat)(const char *name), struct arena *a);

/* Asks for a whole small file: got is called with its content or an error (ERR_USAGE: the file is
 * larger than max_bytes), by share_fetch_all at the latest. */
typedef void share_got(void *context, const struct err *error, struct bytes content);
int share_fetch(const struct share_dir *at, const char *path, size_t max_bytes, share_got *got,
                void *context, struct err *e);
int share_fetch_all(const struct share_dir *at, struct err *e);

/* ---- trees ---- */

/* An entry to copy; a folder comes before its entries. */
struct share_item {
    enum share_type type;        /* one of the first three */
    const char *from;            /* path below the source folder */
    const char *to;              /* path below the target folder */
    mode_t mode;                 /* of the copy of a file or folder */
    int64_t size_bytes;          /* of a file */
    const char *target;          /* out: of a symlink that could not be made, to be freed */
    const struct digest *digest; /* of a file's content, to check it; NULL: not known */
};

/* Copies items of the folder from_fd to the share, many files at a time.  Symlinks that the share
 * cannot hold are left out.  On a mounted share the files are durable then, unless
 * share_is_synced_whole; over SFTP it is quicker to sync them later. */
int share_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                  struct err *e);
/* Copies files and folders from the share.  ERR_PROTOCOL: a file does not have its size or
 * digest. */
int share_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                   size_t n, struct err *e);

/* ---- a large file, piece by piece ---- */

struct share_file;
/* Creates the file; NULL with e set. */
struct share_file *share_create(const struct share_dir *at, const char *path, mode_t mode,
                                struct err *e);
/* Writes max_bytes of the rest of from_fd or, where that costs nothing, all of it; *n_bytes is 0 at
 * the end.  Pieces do not pile up in memory, as another process's sync would wait for them. */
int share_put(struct share_file *f, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
              struct err *e);
/* Closes the file, which may report a full or lost share, and frees f.  e NULL: the file is given
 * up. */
int share_end(struct share_file *f, struct err *e);

/* Opens a file for reading from this offset on, not through a symlink at its last name; ERR_USAGE:
 * the path is no plain file. */
struct share_input;
struct share_input *share_open_input(const struct share_dir *at, const char *path, uint64_t offset,
                                     struct err *e);
/* Reads the next n bytes, fewer only at the end of the file, which may have grown by the next call;
 * 0 at the end. */
ssize_t share_read_input(struct share_input *in, void *bytes, size_t n, struct err *e);
/* Sets the offset of the next read. */
void share_seek_input(struct share_input *in, int64_t offset);
/* Moves the next read past a hole, if the file system tells that there is one; gives its offset. */
int64_t share_skip_hole(struct share_input *in);
int share_input_size(struct share_input *in, int64_t *size_bytes, struct err *e);
void share_close_input(struct share_input *in); /* NULL is fine */

/* A descriptor that becomes readable when the file grows; share_watch_drain makes it wait again,
 * and close(2) ends it.  -1: changes cannot be watched here (a network file system, SFTP). */
int share_watch(const struct share_dir *at, const char *path);
void share_watch_drain(int fd);

/* ---- reading ahead ---- */

/*
 * Announces that the path, and all below it, will be read soon.  Over SFTP, where each question
 * takes a round trip, the answers are asked for now, and the files that wanted names (NULL: all) as
 * far as memory allows; share_stat, share_list, share_read_link and share_open_input use the
 * answers. wanted is called from within other functions, too.  A mounted share does nothing: the
 * kernel reads ahead.
 */
typedef bool share_wanted(void *context, const char *path, const struct share_stat *st);
void share_ahead(const struct share_dir *at, const char *path, share_wanted *wanted, void *context);
/* Announces that the path will not be read after all. */
void share_forget(const struct share_dir *at, const char *path);

/* ---- making it durable ---- */

/* Whether one share_sync makes all files written on the share durable. */
bool share_is_synced_whole(const struct share_dir *d);
int share_sync(const struct share_dir *d, struct err *e);

/* On other shares each file and folder is synced, many at a time. */
struct share_sync {
    const struct share_dir *dir;
    const char *path;
    int error; /* out: errno, 0 when it is durable */
};
void share_sync_each(struct share_sync *files, size_t n);

/* Makes a folder's entries durable; 0 also where the file system cannot and need not sync
 * folders. */
int share_sync_dir(const struct share_dir *d, const char *name, struct err *e);

#endif

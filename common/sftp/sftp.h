/* SPDX-License-Identifier: MIT */
/*
 * sftp.h - an SFTP version 3 client over a connected descriptor
 *
 * The client knows nothing of SSH: the other end may be a forwarded sftp channel
 * or a socket pair with an sftp-server.  Many requests are in flight at once; the
 * server answers one channel's requests in order.  The functions block, and one
 * thread calls them; all waiting is done with poll(2).
 *
 * Paths are the server's; a relative path begins in its session's first folder.
 * The server is not trusted: a reply that breaks the protocol ends the
 * connection and nothing more, with ERR_PROTOCOL.  After a lost connection every
 * call gives ERR_UNREACHABLE.  When a server answers only "failure", the client
 * asks it further, so that the error names the cause: ERR_EXISTS, ERR_NO_SPACE,
 * ERR_DENIED, ERR_NOT_FOUND, or ERR_FAILED with all that is known.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_H
#define LUDWIG_COMMON_SFTP_SFTP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/schema.h"

/* The largest piece of a file in one request, unless the server's limit is lower. */
enum { SFTP_PIECE_BYTES = 255 * 1024 };

struct sftp;

enum sftp_attr { SFTP_SIZE = 1, SFTP_OWNER = 2, SFTP_MODE = 4, SFTP_TIMES = 8 };

/* Attributes of a file. */
struct sftp_attrs {
    unsigned has; /* enum sftp_attr: which members are set */
    uint64_t size_bytes;
    uint32_t uid, gid;
    mode_t mode; /* type and permissions, as in struct stat */
    uint32_t atime_s, mtime_s;
};

/* Extensions of the server beyond the standard. */
enum sftp_extension {
    SFTP_CAN_SYNC = 1,
    SFTP_CAN_REPLACE = 2, /* posix-rename */
    SFTP_CAN_TELL_SPACE = 4
};

/* Waits for the server's greeting.  Takes over fd, and closes it on failure (NULL with e set). */
struct sftp *sftp_open(int fd, struct err *e);
/* The same without waiting: sftp_opens gives 1 after the greeting, 0 before, -1 on error. */
struct sftp *sftp_open_later(int fd, struct err *e);
int sftp_opens(struct sftp *s, struct err *e);
/* Gives up operations in flight: their done is called with ERR_UNREACHABLE.  NULL is fine. */
void sftp_close(struct sftp *s);
bool sftp_can(const struct sftp *s, enum sftp_extension what);
/* Whether the connection is lost, so that every request would fail. */
bool sftp_is_broken(const struct sftp *s);

/* --- one operation at a time ------------------------------------------------ */

int sftp_stat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e);
int sftp_lstat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e);
/* Sets the attributes that attrs->has names; of the mode only the permissions.  Follows links. */
int sftp_setstat(struct sftp *s, const char *path, const struct sftp_attrs *attrs, struct err *e);

struct sftp_entry {
    const char *name;        /* no '/', not "." or ".." */
    struct sftp_attrs attrs; /* as of lstat; servers may leave some out */
};
/* Lists a folder, in arena a and in no order; more than SFTP_LIST_MAX entries are an error. */
enum { SFTP_LIST_MAX = 2000000 };
int sftp_list(struct sftp *s, const char *path, struct arena *a,
              struct list *entries /* struct sftp_entry */, struct err *e);

char *sftp_read_link(struct sftp *s, const char *path, struct err *e); /* caller frees */
/* Makes a link at path to target. */
int sftp_symlink(struct sftp *s, const char *target, const char *path, struct err *e);
/* Makes a folder with exactly this mode, whatever the server's umask.  Of several callers at most
 * one succeeds; the others get ERR_EXISTS. */
int sftp_mkdir(struct sftp *s, const char *path, mode_t mode, struct err *e);
int sftp_rmdir(struct sftp *s, const char *path, struct err *e);
int sftp_remove(struct sftp *s, const char *path, struct err *e); /* not for folders */
/* Fails with ERR_EXISTS if the target exists, be it a file or a folder. */
int sftp_rename(struct sftp *s, const char *from, const char *to, struct err *e);
/* Replaces an existing file, as rename(2) does. */
int sftp_replace(struct sftp *s, const char *from, const char *to, struct err *e);

struct sftp_space {
    uint64_t free_bytes; /* for the account that is logged in */
    uint64_t total_bytes;
    uint64_t free_files; /* UINT64_MAX: no limit */
    bool read_only;
};
int sftp_space(struct sftp *s, const char *path, struct sftp_space *space, struct err *e);

/* Removes a file or a whole tree; a missing path is fine.  Never follows links. */
int sftp_remove_tree(struct sftp *s, const char *path, struct err *e);

/* --- a file ------------------------------------------------------------------- */

enum sftp_flags { /* as on the wire */
                  SFTP_READ = 1,
                  SFTP_WRITE = 2,
                  SFTP_APPEND = 4,
                  SFTP_CREATE = 8,
                  SFTP_TRUNCATE = 16,
                  SFTP_EXCLUSIVE = 32
};

struct sftp_file;

/* flags: enum sftp_flags.  mode: a new file gets exactly these permissions. */
struct sftp_file *sftp_file_open(struct sftp *s, const char *path, unsigned flags, mode_t mode,
                                 struct err *e);
/* Waits for all writes and reports their first error.  Frees f in any case; NULL is fine. */
int sftp_file_close(struct sftp_file *f, struct err *e);
int sftp_file_stat(struct sftp_file *f, struct sftp_attrs *attrs, struct err *e);
/* Reads n bytes, fewer only at the end of the file.  For a sequential reader it asks for the next
 * bytes ahead; when a file has grown, reading goes on behind its former end. */
ssize_t sftp_file_read(struct sftp_file *f, uint64_t offset, void *bytes, size_t n, struct err *e);
/* Returns before the server has answered; a later call for the file reports the error. */
int sftp_file_write(struct sftp_file *f, uint64_t offset, const void *bytes, size_t n,
                    struct err *e);
/* Whether sftp_file_write would take SFTP_PIECE_BYTES without waiting, for a caller that writes
 * several files over several connections (see sftp_wait_any). */
bool sftp_file_has_room(const struct sftp_file *f);
/* Waits until all writes are done, and are on the server's disk if it has SFTP_CAN_SYNC. */
int sftp_file_sync(struct sftp_file *f, struct err *e);
/* Asks for a sync without waiting for it. */
int sftp_file_sync_later(struct sftp_file *f, struct err *e);

/* --- many operations in flight -------------------------------------------------- */

enum sftp_op_kind {
    SFTP_OP_STAT,
    SFTP_OP_LSTAT,
    SFTP_OP_SETSTAT,   /* attrs */
    SFTP_OP_READ_LINK, /* answer: text */
    SFTP_OP_SYMLINK,   /* to: the target of the link at path */
    SFTP_OP_MKDIR,     /* mode */
    SFTP_OP_RMDIR,
    SFTP_OP_REMOVE,
    SFTP_OP_RENAME,  /* to; refuses a target that is there */
    SFTP_OP_REPLACE, /* to */
    SFTP_OP_LIST,    /* arena; answer: entries */
    SFTP_OP_PUT,     /* content, mode, flags (SFTP_EXCLUSIVE or not), sync: a whole small file */
    SFTP_OP_SYNC,    /* a file or folder, to the server's disk */
    SFTP_OP_GET,     /* max_bytes; answer: content of a whole small file */
    SFTP_OP_SPACE    /* answer: space */
};

struct sftp_op {
    enum sftp_op_kind kind;
    const char *path;
    const char *to;
    struct sftp_attrs attrs;
    mode_t mode;
    unsigned flags;
    bool sync;
    size_t max_bytes;
    struct arena *arena;  /* for entries */
    struct bytes content; /* the caller's, and stays until done is called; strings are copied */
};

struct sftp_answer {
    const struct err *error; /* NULL: the operation succeeded */
    struct sftp_attrs attrs; /* for STAT and LSTAT; for GET those that are known */
    const char *text;
    struct bytes content;
    struct list entries; /* struct sftp_entry */
    struct sftp_space space;
};

/* The answer lasts until this callback returns, which may start operations, but not wait. */
typedef void sftp_done(void *context, const struct sftp_answer *answer);

/* Queues the operation; waits only while too many are in flight, and may call the done of others
 * meanwhile.  Operations in flight at once are done in no particular order.  -1: the operation was
 * not queued, and done will not be called. */
int sftp_start(struct sftp *s, const struct sftp_op *what, sftp_done *done, void *context,
               struct err *e);
/* Sends all queued requests and waits for bytes from the server, for a caller that waits for one of
 * several operations.  -1 when the connection is broken. */
int sftp_wait(struct sftp *s, struct err *e);
/* sftp_wait for several connections at once; -1 when one of them is broken. */
enum { SFTP_ANY_MAX = 16 };
int sftp_wait_any(struct sftp *const *all, size_t n, struct err *e);
/* Waits until done was called for all operations.  -1 only when the connection is broken. */
int sftp_finish(struct sftp *s, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sftp.h - an SFTP version 3 client over a connected descriptor
 *
 * Knows nothing of SSH: the other end may be an sftp channel that somebody
 * forwards, or a socket pair with an sftp-server.  Many requests are in flight
 * at once; the server answers one channel's requests in order.  Blocking, for
 * one thread; all waiting is done with poll(2).
 *
 * Paths are the server's: relative ones begin where its session begins.  What
 * the server sends is not trusted: what breaks the protocol ends the
 * connection and nothing more, with ERR_PROTOCOL.  A connection that broke
 * gives ERR_UNREACHABLE, from then on for every call.  What a server only calls
 * "failure" is looked into, so that an error says what it was: ERR_EXISTS,
 * ERR_NO_SPACE, ERR_DENIED, ERR_NOT_FOUND, or ERR_FAILED with what is known.
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

/* The largest piece of a file in one request, should the server not say less. */
enum { SFTP_PIECE_BYTES = 255 * 1024 };

struct sftp;

enum sftp_attr { SFTP_SIZE = 1, SFTP_OWNER = 2, SFTP_MODE = 4, SFTP_TIMES = 8 };

/* What a server says of a file. */
struct sftp_attrs {
    unsigned has; /* enum sftp_attr: which of the others hold */
    uint64_t size_bytes;
    uint32_t uid, gid;
    mode_t mode; /* type and permissions, as in struct stat */
    uint32_t atime_s, mtime_s;
};

/* What the server offers beyond the standard. */
enum sftp_extension {
    SFTP_CAN_SYNC = 1,
    SFTP_CAN_REPLACE = 2, /* posix-rename */
    SFTP_CAN_TELL_SPACE = 4
};

/* Owns fd, also when it fails. */
struct sftp *sftp_open(int fd, struct err *e);
/* The same without waiting: sftp_opens says whether it can be used. */
struct sftp *sftp_open_later(int fd, struct err *e);
int sftp_opens(struct sftp *s, struct err *e); /* 1, 0: not yet, -1 */
/* What is in flight is given up: its done is called with ERR_UNREACHABLE.  NULL is fine. */
void sftp_close(struct sftp *s);
bool sftp_can(const struct sftp *s, enum sftp_extension what);
/* Nothing can be asked any more. */
bool sftp_is_broken(const struct sftp *s);

/* --- one operation at a time ------------------------------------------------ */

int sftp_stat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e);
int sftp_lstat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e);
/* Sets those that attrs->has names.  Of the mode the permissions count.  Follows links. */
int sftp_setstat(struct sftp *s, const char *path, const struct sftp_attrs *attrs, struct err *e);

struct sftp_entry {
    const char *name;        /* no '/', not "." or ".." */
    struct sftp_attrs attrs; /* of lstat; servers may leave some out */
};
/* In the arena, in no order.  Longer listings are refused. */
enum { SFTP_LIST_MAX = 2000000 };
int sftp_list(struct sftp *s, const char *path, struct arena *a,
              struct list *entries /* struct sftp_entry */, struct err *e);

char *sftp_read_link(struct sftp *s, const char *path, struct err *e); /* caller frees */
/* The link at path will point to target. */
int sftp_symlink(struct sftp *s, const char *target, const char *path, struct err *e);
/* With exactly this mode, whatever the server's umask; ERR_EXISTS claims are exclusive. */
int sftp_mkdir(struct sftp *s, const char *path, mode_t mode, struct err *e);
int sftp_rmdir(struct sftp *s, const char *path, struct err *e);
int sftp_remove(struct sftp *s, const char *path, struct err *e); /* no folders */
/* Refuses a target that is there, a folder too: ERR_EXISTS. */
int sftp_rename(struct sftp *s, const char *from, const char *to, struct err *e);
/* As rename(2): replaces a file. */
int sftp_replace(struct sftp *s, const char *from, const char *to, struct err *e);

struct sftp_space {
    uint64_t free_bytes; /* for whoever is logged in */
    uint64_t total_bytes;
    uint64_t free_files; /* UINT64_MAX: no limit */
    bool read_only;
};
int sftp_space(struct sftp *s, const char *path, struct sftp_space *space, struct err *e);

/* rm -rf; a missing path is fine.  Never follows links. */
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

/* flags: enum sftp_flags.  mode counts for a file that is made: it gets exactly these permissions. */
struct sftp_file *sftp_file_open(struct sftp *s, const char *path, unsigned flags, mode_t mode,
                                 struct err *e);
/* Waits for all that was written; the first error there was.  Frees f in any case; NULL is fine. */
int sftp_file_close(struct sftp_file *f, struct err *e);
int sftp_file_stat(struct sftp_file *f, struct sftp_attrs *attrs, struct err *e);
/* Fewer than n bytes at the end of the file only.  Whoever reads on where the last call ended finds
 * that more is under way already; a file that grew since is read on. */
ssize_t sftp_file_read(struct sftp_file *f, uint64_t offset, void *bytes, size_t n, struct err *e);
/* Returns before the server has answered; a later call tells of an error. */
int sftp_file_write(struct sftp_file *f, uint64_t offset, const void *bytes, size_t n,
                    struct err *e);
/* Whether it would not wait, with SFTP_PIECE_BYTES: for those who write several files, over several
 * connections (see sftp_wait_any). */
bool sftp_file_has_room(const struct sftp_file *f);
/* Waits until all that was written is there, and on the server's disk where SFTP_CAN_SYNC. */
int sftp_file_sync(struct sftp_file *f, struct err *e);
/* Asks for a sync and goes on. */
int sftp_file_sync_later(struct sftp_file *f, struct err *e);

/* --- many operations in flight -------------------------------------------------- */

enum sftp_op_kind {
    SFTP_OP_STAT,
    SFTP_OP_LSTAT,
    SFTP_OP_SETSTAT,   /* attrs */
    SFTP_OP_READ_LINK, /* answer: text */
    SFTP_OP_SYMLINK,   /* to: what path will point to */
    SFTP_OP_MKDIR,     /* mode */
    SFTP_OP_RMDIR,
    SFTP_OP_REMOVE,
    SFTP_OP_RENAME,  /* to; refuses a target that is there */
    SFTP_OP_REPLACE, /* to */
    SFTP_OP_LIST,    /* arena; answer: entries */
    SFTP_OP_PUT,     /* content, mode, flags (SFTP_EXCLUSIVE or not), sync: a whole small file */
    SFTP_OP_SYNC,    /* of a file or folder: what was written is on the server's disk */
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
    struct arena *arena;  /* where entries are kept */
    struct bytes content; /* stays the caller's and must be there until done; strings are copied */
};

struct sftp_answer {
    const struct err *error; /* NULL: it was done */
    struct sftp_attrs attrs; /* STAT, LSTAT; of GET what is known */
    const char *text;
    struct bytes content;
    struct list entries; /* struct sftp_entry */
    struct sftp_space space;
};

/* All in answer lasts until it returns.  It may start operations, but not wait for any. */
typedef void sftp_done(void *context, const struct sftp_answer *answer);

/* Queues the operation; waits only while too many are in flight, during which done may be called
 * for those.  Operations under way at once are done in no order that can be relied on.  -1:
 * nothing was queued, and done will not be called. */
int sftp_start(struct sftp *s, const struct sftp_op *what, sftp_done *done, void *context,
               struct err *e);
/* Sends what waits to be sent and waits until a server says something: for those who wait for one of
 * several operations.  -1 when the connection is broken. */
int sftp_wait(struct sftp *s, struct err *e);
/* sftp_wait for several at once; -1 when one of them is broken. */
enum { SFTP_ANY_MAX = 16 };
int sftp_wait_any(struct sftp *const *all, size_t n, struct err *e);
/* Waits until done was called for all.  -1 only when the connection is broken. */
int sftp_finish(struct sftp *s, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sharefs.h - files below the shared drive, to be read
 *
 * All paths are relative to the share, as in messages.  A link is never followed at the end of a
 * path: what jobs saved is not to be trusted.  Whoever reads the drive knows nothing but the
 * functions here: it is a folder of this machine, or reached over SFTP.
 */
#ifndef LUDWIG_CLIENT_SHARE_SHAREFS_H
#define LUDWIG_CLIENT_SHARE_SHAREFS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/mem.h"
#include "common/data/schema.h"

struct sftp;
struct sharefs;
struct sharefs_file;

enum sharefs_kind { SHAREFS_FILE, SHAREFS_FOLDER, SHAREFS_LINK, SHAREFS_OTHER };

struct sharefs_entry {
    const char *name;
    enum sharefs_kind kind;
    int64_t size;    /* bytes */
    int64_t mtime_s; /* since 1970 */
    bool executable;
};

/* root: the share as this machine sees it. */
struct sharefs *sharefs_open(const char *root, struct err *e);
/* root: the share as the server's SFTP shows it, "" or an absolute path.  s stays the caller's. */
struct sharefs *sharefs_open_sftp(struct sftp *s, const char *root);
void sharefs_close(struct sharefs *fs); /* NULL is fine */
/* Where that is, for people.  Caller frees. */
char *sharefs_where(const struct sharefs *fs, const char *path);

/* All functions below fail with ERR_NOT_FOUND for what is not there. */
int sharefs_stat(struct sharefs *fs, const char *path, struct sharefs_entry *entry, struct err *e);
/* Sorted by name; in the arena. */
int sharefs_list(struct sharefs *fs, const char *path, struct arena *a,
                 struct list *entries /* struct sharefs_entry */, struct err *e);
/* Where a link points to; in the arena. */
const char *sharefs_read_link(struct sharefs *fs, const char *path, struct arena *a, struct err *e);

/* Regular files only: nothing here waits for a writer. */
struct sharefs_file *sharefs_file_open(struct sharefs *fs, const char *path, struct err *e);
/* Fewer than n bytes at the end of the file only, which may have grown by the next call; -1 with e
 * set. */
ssize_t sharefs_file_read(struct sharefs_file *f, void *bytes, size_t n, struct err *e);
/* Where the next read begins; at first 0. */
void sharefs_file_seek(struct sharefs_file *f, int64_t offset);
int sharefs_file_size(struct sharefs_file *f, int64_t *size_bytes, struct err *e);
void sharefs_file_close(struct sharefs_file *f); /* NULL is fine */

/* A descriptor that becomes readable when the file changes, see filewatch.h; -1 where nobody is
 * told. */
int sharefs_watch(const struct sharefs *fs, const char *path);

/*
 * What is at the path, and all below it, will be read soon.  Where each question would take a
 * journey, the answers are on their way from now on, and files as far as wanted() says so and
 * memory allows.  Nothing else changes.
 */
typedef bool sharefs_wanted(void *context, const char *path, const struct sharefs_entry *entry);
void sharefs_ahead(struct sharefs *fs, const char *path, sharefs_wanted *wanted, void *context);
/* It will not be read after all. */
void sharefs_forget(struct sharefs *fs, const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sharefs.h - files below the shared drive, to be read
 *
 * All paths are relative to the share, as in messages.  A link is never followed at the end of a
 * path: what jobs saved is not to be trusted.  The drive is a folder of this machine; whoever
 * reads it knows nothing but the functions here, so that it may also be reached in another way.
 */
#ifndef LUDWIG_CLIENT_SHAREFS_H
#define LUDWIG_CLIENT_SHAREFS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/mem.h"
#include "common/schema.h"

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
void sharefs_close(struct sharefs *fs); /* NULL is fine */

/* All functions below fail with ERR_NOT_FOUND for what is not there. */
int sharefs_stat(struct sharefs *fs, const char *path, struct sharefs_entry *entry, struct err *e);
/* Sorted by name; in the arena. */
int sharefs_list(struct sharefs *fs, const char *path, struct arena *a,
                 struct list *entries /* struct sharefs_entry */, struct err *e);
/* Where a link points to; in the arena. */
const char *sharefs_read_link(struct sharefs *fs, const char *path, struct arena *a, struct err *e);

/* Regular files only: nothing here waits for a writer. */
struct sharefs_file *sharefs_file_open(struct sharefs *fs, const char *path, struct err *e);
/* Fewer than n bytes at the end of the file only; -1 with e set. */
ssize_t sharefs_file_read(struct sharefs_file *f, void *bytes, size_t n, struct err *e);
void sharefs_file_close(struct sharefs_file *f); /* NULL is fine */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cache_dir.h - files that can be made again, below $XDG_CACHE_HOME/ludwig
 *
 * Each file ends with the SHA-256 of all bytes before, and is written beside its place and renamed.
 * A damaged file counts as missing, and callers do without a file that cannot be written.
 */
#ifndef LUDWIG_CLIENT_UTIL_CACHE_DIR_H
#define LUDWIG_CLIENT_UTIL_CACHE_DIR_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/digest.h"

enum { CACHE_DIR_UNUSED_DAYS = 90 }; /* a file is removed when it was not used for so long */

/* Returns the path in the cache for a key, which may be any text; the caller frees it. */
char *cache_dir_path(const char *folder, const char *key);

/* Opens a file, whose content has *bytes; NULL: it is missing or damaged. */
FILE *cache_dir_open(const char *path, const char *magic, uint64_t *bytes);

struct cache_dir_writer;

/* Begins to write a file; makes its folders, and removes files there that were not used for long.
 * NULL: the file cannot be written. */
struct cache_dir_writer *cache_dir_create(const char *path, const char *magic);
/* Does nothing after an error. */
void cache_dir_add(struct cache_dir_writer *w, const void *bytes, size_t n);
/* Returns 0, or -1 if the file was not written; the old one stays then. */
int cache_dir_commit(struct cache_dir_writer *w);
void cache_dir_abandon(struct cache_dir_writer *w); /* NULL is fine */

#endif

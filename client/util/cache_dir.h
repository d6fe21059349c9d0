/* SPDX-License-Identifier: MIT */
/*
 * cache_dir.h - files of this machine that can be made again: below $XDG_CACHE_HOME/ludwig
 *
 * Each ends with the SHA-256 of all before, and is written beside its place and renamed.  One that
 * is damaged counts as none, and whoever cannot write one does without.
 */
#ifndef LUDWIG_CLIENT_UTIL_CACHE_DIR_H
#define LUDWIG_CLIENT_UTIL_CACHE_DIR_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/digest.h"

enum { CACHE_DIR_UNUSED_DAYS = 90 }; /* then a file goes */

/* "FOLDER/NAME-OF-KEY": a path in the cache, made from any text.  Caller frees. */
char *cache_dir_path(const char *folder, const char *key);

/* Reading from the begin; NULL: there is none, or it is damaged.  *bytes: without the digest. */
FILE *cache_dir_open(const char *path, const char *magic, uint64_t *bytes);

struct cache_dir_writer;

/* Makes the folders, too; removes from that folder what nobody used for long.  NULL: it cannot be
 * written. */
struct cache_dir_writer *cache_dir_create(const char *path, const char *magic);
/* Does nothing after an error. */
void cache_dir_add(struct cache_dir_writer *w, const void *bytes, size_t n);
/* -1: it was not written; the one before stays. */
int cache_dir_commit(struct cache_dir_writer *w);
void cache_dir_abandon(struct cache_dir_writer *w); /* NULL is fine */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cache.h - files of this machine that can be made again: below $XDG_CACHE_HOME/ludwig
 *
 * Each ends with the SHA-256 of all before, and is written beside its place and renamed.  One that
 * is damaged counts as none, and whoever cannot write one does without.
 */
#ifndef LUDWIG_CLIENT_UTIL_CACHE_H
#define LUDWIG_CLIENT_UTIL_CACHE_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/digest.h"

enum { CACHE_UNUSED_DAYS = 90 }; /* then a file goes */

/* "FOLDER/NAME-OF-KEY": a path in the cache, made from any text.  Caller frees. */
char *cache_path(const char *folder, const char *key);

/* Reading from the begin; NULL: there is none, or it is damaged.  *bytes: without the digest. */
FILE *cache_open(const char *path, const char *magic, uint64_t *bytes);

struct cache_writer;

/* Makes the folders, too; removes from that folder what nobody used for long.  NULL: it cannot be
 * written. */
struct cache_writer *cache_create(const char *path, const char *magic);
/* Does nothing after an error. */
void cache_add(struct cache_writer *w, const void *bytes, size_t n);
/* -1: it was not written; the one before stays. */
int cache_commit(struct cache_writer *w);
void cache_abandon(struct cache_writer *w); /* NULL is fine */

#endif

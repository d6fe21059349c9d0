/* SPDX-License-Identifier: MIT */
/*
 * hardlinks.h - which files of a tree are one and the same
 *
 * Beyond HARDLINKS_BYTES_MAX none is remembered any more: they are files of their own then.
 */
#ifndef LUDWIG_CLIENT_PACK_HARDLINKS_H
#define LUDWIG_CLIENT_PACK_HARDLINKS_H

#include <sys/stat.h>

enum { HARDLINKS_BYTES_MAX = 8 * 1024 * 1024 };

struct hardlinks;

struct hardlinks *hardlinks_create(void);
void hardlinks_destroy(struct hardlinks *l); /* NULL is fine */

/* The path under which this file came before, valid until hardlinks_destroy; NULL: it is remembered. */
const char *hardlinks_find_or_add(struct hardlinks *l, const struct stat *st, const char *path);

#endif

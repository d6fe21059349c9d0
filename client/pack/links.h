/* SPDX-License-Identifier: MIT */
/*
 * links.h - which files of a tree are one and the same
 *
 * Beyond LINKS_BYTES_MAX none is remembered any more: they are files of their own then.
 */
#ifndef LUDWIG_CLIENT_PACK_LINKS_H
#define LUDWIG_CLIENT_PACK_LINKS_H

#include <sys/stat.h>

enum { LINKS_BYTES_MAX = 8 * 1024 * 1024 };

struct links;

struct links *links_create(void);
void links_destroy(struct links *l); /* NULL is fine */

/* The path under which this file came before, valid until links_destroy; NULL: it is remembered. */
const char *links_find_or_add(struct links *l, const struct stat *st, const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * source_files.h - lists the files of a source for people
 */
#ifndef LUDWIG_CLIENT_PACK_SOURCE_FILES_H
#define LUDWIG_CLIENT_PACK_SOURCE_FILES_H

#include "client/pack/tree.h"

enum { SOURCE_FILES_SHOWN = 10 };

/* Appends the names of a tree's files, in lines; of more than SOURCE_FILES_SHOWN the largest with
 * their sizes, and how many more there are.  all: each file on a line of its own, with its size. */
int source_files_add(struct buf *out, const struct tree *t, bool all, struct err *e);

#endif

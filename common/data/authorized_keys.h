/* SPDX-License-Identifier: MIT */
/*
 * authorized_keys.h - one line of an authorized_keys file of sshd's, and the others as they are
 *
 * A line of ours is known by what it ends with, which stands in the comment of its key.
 */
#ifndef LUDWIG_COMMON_DATA_AUTHORIZED_KEYS_H
#define LUDWIG_COMMON_DATA_AUTHORIZED_KEYS_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* Appends text to out with line, or nothing where that is NULL, in place of those lines that end with
 * " MARK"; other lines stay as they are. */
void authorized_keys_replace(const char *text, const char *mark, const char *line, struct buf *out);

/* The same with the file, which need not be there and keeps its mode; where it is a link, with the file
 * that it leads to.  Its caller holds a lock. */
int authorized_keys_edit(const char *path, const char *mark, const char *line, struct err *e);

#endif

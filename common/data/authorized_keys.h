/* SPDX-License-Identifier: MIT */
/*
 * authorized_keys.h - changes one line of sshd's authorized_keys file and keeps the others
 *
 * ludwig's lines end with a mark, which stands in the comment of the key.
 */
#ifndef LUDWIG_COMMON_DATA_AUTHORIZED_KEYS_H
#define LUDWIG_COMMON_DATA_AUTHORIZED_KEYS_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* Appends text to out without the lines that end with " MARK", and with line in their place unless
 * line is NULL; other lines stay as they are. */
void authorized_keys_replace(const char *text, const char *mark, const char *line, struct buf *out);

/* The same for the file at path, which may be missing and keeps its mode; if path is a symlink, its
 * target is changed.  The caller holds a lock. */
int authorized_keys_edit(const char *path, const char *mark, const char *line, struct err *e);

#endif

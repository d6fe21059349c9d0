/* SPDX-License-Identifier: MIT */
/*
 * excerpt.h - sorts error messages "FILE:LINE:COLUMN: text", one a line, and adds the file's lines
 */
#ifndef LUDWIG_CLIENT_TERM_EXCERPT_H
#define LUDWIG_CLIENT_TERM_EXCERPT_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* Sorts the lines of errors by their line and column in file; lines that do not begin with such a
 * place come last. */
void excerpt_sort(struct buf *errors, const char *file);

/* Adds to e, after each message that begins with a place in file, that line of text (the file's
 * content) and a mark below the column.  If e has no room for all, some messages get none. */
void excerpt_add(struct err *e, const char *file, const char *text);

#endif

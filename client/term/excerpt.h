/* SPDX-License-Identifier: MIT */
/*
 * excerpt.h - sorts error lines "FILE:LINE:COLUMN: text", and shows the lines of the file
 */
#ifndef LUDWIG_CLIENT_TERM_EXCERPT_H
#define LUDWIG_CLIENT_TERM_EXCERPT_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* Sorts the lines of errors by the place in file with which they begin; lines without a place come
 * last. */
void excerpt_sort(struct buf *errors, const char *file);

/* Adds behind each line of e that begins with a place in file that line of text, and marks the
 * column; only behind the first ones when there is no room for all. */
void excerpt_add(struct err *e, const char *file, const char *text);

#endif

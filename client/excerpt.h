/* SPDX-License-Identifier: MIT */
/*
 * excerpt.h - the line of a file that an error is about
 */
#ifndef LUDWIG_CLIENT_EXCERPT_H
#define LUDWIG_CLIENT_EXCERPT_H

#include "common/buf.h"
#include "common/err.h"

/* Behind each line "FILE:LINE:COLUMN: ..." of e puts that line of text, and marks the column. */
void excerpt_add(struct err *e, const char *file, const struct buf *text);

#endif

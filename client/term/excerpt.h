/* SPDX-License-Identifier: MIT */
/*
 * excerpt.h - lines "FILE:LINE:COLUMN: what is wrong", for people
 */
#ifndef LUDWIG_CLIENT_TERM_EXCERPT_H
#define LUDWIG_CLIENT_TERM_EXCERPT_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* Puts the lines of errors into the order of the places in file that they begin with; those
 * without one come last. */
void excerpt_sort(struct buf *errors, const char *file);

/* Behind each line of e that begins with a place in file puts that line of text, and marks the
 * column; when there is no room for all of them, to the first ones. */
void excerpt_add(struct err *e, const char *file, const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * out.h - results on stdout, messages on stderr
 *
 * A reader that closed stdout early (as head does) ends the program quietly:
 * the functions then fail with kind ERR_NONE, which exits 0 and prints nothing.
 */
#ifndef LUDWIG_CLIENT_TERM_OUT_H
#define LUDWIG_CLIENT_TERM_OUT_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/schema.h"

/* Writes b to stdout and frees it. */
int out_write(struct buf *b, struct err *e);
/* One line on stderr, for people. */
void out_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "ludwig: ..." on stderr, for each line of e; nothing for ERR_NONE. */
void out_error(const struct err *e);

bool out_is_terminal(int fd);
size_t out_columns(int fd); /* of a terminal; SIZE_MAX for anything else */
bool out_has_colour(int fd);

/* Appends {"v":1, and the struct's fields }. */
void out_add_versioned(struct buf *out, const struct schema *s, const void *from);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * output.h - results on stdout, messages on stderr
 *
 * A reader that closed stdout early (as head does) ends the program quietly:
 * the functions then fail with kind ERR_NONE, which exits 0 and prints nothing.
 */
#ifndef LUDWIG_CLIENT_TERM_OUTPUT_H
#define LUDWIG_CLIENT_TERM_OUTPUT_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/schema.h"

/* Writes b to stdout and frees it. */
int output_write(struct buf *b, struct err *e);
/* One line on stderr, for people. */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "ludwig: ..." on stderr, for each line of e; nothing for ERR_NONE. */
void output_error(const struct err *e);

bool output_is_terminal(int fd);
size_t output_columns(int fd); /* of a terminal; SIZE_MAX for anything else */
bool output_has_colour(int fd);

/* Appends {"v":1, and the struct's fields }. */
void output_add_versioned(struct buf *out, const struct schema *s, const void *from);

#endif

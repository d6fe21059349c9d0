/* SPDX-License-Identifier: MIT */
/*
 * output.h - results on stdout, messages and questions on stderr
 *
 * If the reader of stdout has closed it early, as head does, the program should end quietly: the
 * functions that write to stdout then return -1 with kind ERR_NONE, for which the program prints
 * nothing and exits 0.
 */
#ifndef LUDWIG_CLIENT_TERM_OUTPUT_H
#define LUDWIG_CLIENT_TERM_OUTPUT_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/schema.h"

/* Writes b to stdout and frees it, also on error.  Returns 0, or -1 with e set. */
int output_write(struct buf *b, struct err *e);
/* Writes a message and a newline to stderr; control characters are made harmless. */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes each line of e's text to stderr as "ludwig: LINE", an indented line without "ludwig: ".
 * Writes nothing for ERR_NONE. */
void output_error(const struct err *e);

bool output_is_terminal(int fd);
size_t output_columns(int fd);  /* width of the terminal; SIZE_MAX if fd is no terminal */
size_t output_rows(int fd);     /* height of the terminal; SIZE_MAX if fd is no terminal */
bool output_has_cursor(int fd); /* fd is a terminal, and TERM is set and not "dumb" */
bool output_has_colour(int fd); /* as output_has_cursor, and NO_COLOR is not set */
/* Whether the locale (LC_ALL, LC_CTYPE, LANG) has UTF-8. */
bool output_has_utf8(void);

/* Writes a struct of schema s to stdout as one line of JSON, {"v":1,...}.  Returns 0, or -1 with e
 * set. */
int output_write_json(const struct schema *s, const void *from, struct err *e);

/* A command asks the user before it changes more jobs than this. */
enum { CONFIRM_ABOVE = 100 };
/* Whether stdin and stderr are terminals, so that output_ask can ask a user. */
bool output_can_ask(void);
/* Asks "QUESTION [y/N] " on stderr and reads the answer from stdin; true for y or yes. */
bool output_ask(const char *question);

#endif

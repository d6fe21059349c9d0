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
size_t output_columns(int fd); /* of a terminal; else SIZE_MAX */
size_t output_rows(int fd);    /* the same */
bool output_has_colour(int fd);
/* Whether the locale says that text is UTF-8. */
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

/* Lines on a terminal that are painted again and again.  Zero-initialised: none is painted yet. */
struct screen {
    size_t n_lines; /* painted, above the cursor */
};
/* Whether stdout is a terminal whose cursor can be moved. */
bool screen_is_there(void);
/* Replaces the painted lines by those of text, each no wider than the terminal; shows as many of
 * the first ones as fit.  Empties text. */
int screen_paint(struct screen *s, struct buf *text, struct err *e);

#endif

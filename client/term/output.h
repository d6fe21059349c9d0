/* SPDX-License-Identifier: MIT */
/*
 * output.h - results on stdout, messages and questions on stderr
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
size_t output_columns(int fd); /* of a terminal; else SIZE_MAX */
size_t output_rows(int fd);    /* the same */
bool output_has_colour(int fd);
/* Whether the locale says that text is UTF-8. */
bool output_has_utf8(void);

/* Writes {"v":1, and the struct's fields } to stdout, on a line. */
int output_write_json(const struct schema *s, const void *from, struct err *e);

/* More jobs than these are changed only after a question. */
enum { CONFIRM_ABOVE = 100 };
/* Whether both stdin and stderr are terminals, so that a user can be asked.  Scripts are never
 * asked. */
bool output_can_ask(void);
/* Asks "QUESTION [y/N] "; only y and yes are a yes. */
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

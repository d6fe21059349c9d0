/* SPDX-License-Identifier: MIT */
/*
 * csv.h - writes comma-separated values as in RFC 4180, except that lines end in \n
 */
#ifndef LUDWIG_CLIENT_TERM_CSV_H
#define LUDWIG_CLIENT_TERM_CSV_H

#include "common/base/err.h"
#include "common/data/value.h"

/* Appends the first field of a line, quoted where needed. */
void csv_add(struct buf *out, const char *text);
/* Appends a comma and a further field. */
void csv_next(struct buf *out, const char *text);
void csv_next_number(struct buf *out, double x); /* NAN: an empty field */
/* Appends a string without JSON's quotes, any other value as JSON, NULL as an empty field. */
void csv_next_value(struct buf *out, const struct value *v);
/* Appends the heading of a parameter's column: NAME, or params.NAME if another column of the output
 * can be called NAME. */
void csv_next_param(struct buf *out, const char *name);
/* Writes out to stdout and frees it, also on error.  If stdout is a terminal, control characters
 * are made harmless first (safe_text.h).  Returns 0, or -1 as output_write. */
int csv_write(struct buf *out, struct err *e);

#endif

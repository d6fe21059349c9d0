/* SPDX-License-Identifier: MIT */
/*
 * csv.h - comma-separated values as in RFC 4180, except that lines end in \n
 */
#ifndef LUDWIG_CLIENT_TERM_CSV_H
#define LUDWIG_CLIENT_TERM_CSV_H

#include "common/base/err.h"
#include "common/data/value.h"

/* Appends a field without a comma. */
void csv_add(struct buf *out, const char *text);
/* Appends a comma and the field. */
void csv_next(struct buf *out, const char *text);
void csv_next_number(struct buf *out, double x); /* NAN: empty */
/* Strings bare, the rest as JSON; NULL: empty. */
void csv_next_value(struct buf *out, const struct value *v);
/* The head of a parameter's column: params.NAME where another column has that name. */
void csv_next_param(struct buf *out, const char *name);
/* Writes out to stdout, on a terminal made harmless (safe_text.h), and frees it. */
int csv_write(struct buf *out, struct err *e);

#endif

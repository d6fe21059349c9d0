/* SPDX-License-Identifier: MIT */
/*
 * csv.h - comma-separated values as RFC 4180 has them, but for lines that end in \n
 */
#ifndef LUDWIG_CLIENT_TERM_CSV_H
#define LUDWIG_CLIENT_TERM_CSV_H

#include "common/base/err.h"
#include "common/data/value.h"

/* Appends a field; no comma. */
void csv_add(struct buf *out, const char *text);
/* A comma before the field. */
void csv_next(struct buf *out, const char *text);
void csv_next_number(struct buf *out, double x); /* NAN: empty */
/* Strings bare, the rest as JSON; NULL: empty. */
void csv_next_value(struct buf *out, const struct value *v);
/* The head of a parameter's column: params.NAME where another column has that name. */
void csv_next_param(struct buf *out, const char *name);
/* Writes to stdout and frees; what a terminal would obey is written out there. */
int csv_write(struct buf *out, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * table.h - aligned columns for people
 *
 * Text in heads and cells is made harmless.  Where a terminal has too little room, columns
 * are left out that may be, and others shrink that may, until a line fits; elsewhere
 * nothing is cut.  A long listing is printed in parts: columns stay at least as wide as
 * they were, and columns left out of the first part stay out.
 */
#ifndef LUDWIG_CLIENT_TERM_TABLE_H
#define LUDWIG_CLIENT_TERM_TABLE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum tone { TONE_PLAIN, TONE_STRONG, TONE_GOOD, TONE_BAD, TONE_BUSY, TONE_DIM };

struct column {
    const char *head;
    bool right;   /* aligned */
    bool shrinks; /* may be cut so that a line fits */
};

struct table;

/* columns are copied; lines fit into width columns (SIZE_MAX: any).  No head is printed if no
 * column has one. */
struct table *table_create(const struct column *columns, size_t n, size_t width, bool colour);
/* The same with the width and colour of stdout. */
struct table *table_for_stdout(const struct column *columns, size_t n);
/* When a column is left out: if a line does not fit although the others have shrunk to a width that
 * is comfortable to read, or as far as they can. */
enum table_need { NEED_COMFORT, NEED_ROOM };
/* Allows leaving out the column; of several the one named last goes first. */
void table_may_leave_out(struct table *t, size_t column, enum table_need need);
/* The column goes together with the one named before. */
void table_leave_out_too(struct table *t, size_t column);
/* Decides which columns go, once: by the rows at the first flush, or now. */
void table_fit(struct table *t);
bool table_leaves_out(const struct table *t, size_t column);
void table_destroy(struct table *t); /* NULL is fine */

/* Fill the next cell; after the last cell of a row comes the first of the next. */
void table_add(struct table *t, enum tone tone, const char *text); /* NULL: "" */
void table_printf(struct table *t, enum tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void table_add_buf(struct table *t, enum tone tone, struct buf *text); /* empties text */
/* Appends the rows added so far, the first time with the head, and drops them. */
void table_flush(struct table *t, struct buf *out);
/* Prints the same to stdout. */
int table_print(struct table *t, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * table.h - prints a table with aligned columns
 *
 * Text in heads and cells is made harmless (safe_text.h).  If lines are wider than the table may
 * be, columns for which this is allowed are left out or cut until lines fit.  A long table can be
 * printed in parts, by one table_flush each: columns stay at least as wide as in the part before,
 * and columns left out of the first part stay out.
 */
#ifndef LUDWIG_CLIENT_TERM_TABLE_H
#define LUDWIG_CLIENT_TERM_TABLE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum tone { TONE_PLAIN, TONE_STRONG, TONE_GOOD, TONE_BAD, TONE_BUSY, TONE_DIM };

struct column {
    const char *head;
    bool right;   /* aligned to the right */
    bool shrinks; /* may be cut so that a line fits */
};

struct table;

/* Creates a table with n columns, which are copied.  width: how wide lines may be, in characters
 * (SIZE_MAX: any); colour: cells have colours.  No head is printed if all heads are empty. */
struct table *table_create(const struct column *columns, size_t n, size_t width, bool colour);
/* As table_create, with width and colour as stdout allows. */
struct table *table_for_stdout(const struct column *columns, size_t n);
/* When a column is left out: if a line does not fit although columns that may shrink are cut to 16
 * characters, which are comfortable to read (NEED_COMFORT), or to 8, the least (NEED_ROOM). */
enum table_need { NEED_COMFORT, NEED_ROOM };
/* Allows leaving out the column.  The column of the last call is left out first. */
void table_may_leave_out(struct table *t, size_t column, enum table_need need);
/* Makes the column be left out whenever the column of the call before is left out. */
void table_leave_out_too(struct table *t, size_t column);
/* Decides now, by the cells added so far, which columns are left out; otherwise the first
 * table_flush decides. */
void table_fit(struct table *t);
bool table_leaves_out(const struct table *t, size_t column);
void table_destroy(struct table *t); /* NULL is fine */

/* These functions fill the next cell, row by row, also the cells of columns that are left out. */
void table_add(struct table *t, enum tone tone, const char *text); /* NULL: "" */
void table_printf(struct table *t, enum tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void table_add_buf(struct table *t, enum tone tone, struct buf *text); /* empties text */
/* Appends the rows added so far to out, at the first call with the head, and drops them. */
void table_flush(struct table *t, struct buf *out);
/* As table_flush, but prints to stdout.  Returns 0, or -1 as output_write. */
int table_print(struct table *t, struct err *e);

#endif

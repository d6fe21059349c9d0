/* SPDX-License-Identifier: MIT */
/*
 * param2vals.h - configurations made by another program, one JSON object a line
 *
 * The file is read and checked as a whole before anything else happens: each line is a
 * configuration by itself, has a value for every {placeholder} of the command, and occurs once.
 * Blank lines are skipped, and a byte order mark.  Types stay as in JSON: 1, 1.0 and "1" differ.
 * Memory grows by some 20 bytes a line; the text itself lies in a temporary file
 * (client/util/spool.h).
 */
#ifndef LUDWIG_CLIENT_EXPAND_PARAM2VALS_H
#define LUDWIG_CLIENT_EXPAND_PARAM2VALS_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/schema.h"

enum { PARAM2VALS_LINE_MAX_BYTES = 4 * 1024 * 1024 };

struct param2vals;

struct param2vals_wanted {
    const char *path;       /* "-": standard input */
    const char *command;    /* the command whose placeholders need values; NULL: none */
    int64_t points_max;     /* more configurations are an error */
    const struct buf *text; /* the configurations, if they do not come from path; else NULL */
};

/* Reads and checks the file; ERR_USAGE: "FILE:LINE:COLUMN: what" for each of the first mistakes. */
struct param2vals *param2vals_read(const struct param2vals_wanted *w, struct err *e);
void param2vals_destroy(struct param2vals *p); /* NULL is fine */

int64_t param2vals_count(const struct param2vals *p);
/* See expand_seek and expand_next. */
void param2vals_seek(struct param2vals *p, int64_t index);
bool param2vals_next(struct param2vals *p, struct buf *out);
/* Returns the whole text of the file, which lives as long as p. */
struct bytes param2vals_text(const struct param2vals *p);
/* Returns the first configuration as struct param, each with its one value; all in a. */
struct list param2vals_first(struct param2vals *p, struct arena *a);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * where.h - parses expressions of --where, as 'lr > 0.01 and state = failed', and tests rows
 *
 *     TEST         NAME = VALUE, also == != < <= > >=
 *                  NAME ~ TEXT (contains), NAME in (VALUE, ...), NAME not in (...)
 *     EXPRESSION   TEST; not E; E and E; E or E; (E), where not binds closest and or least
 *
 * A name means a field of the row; if there is none, a parameter; if there is none, a measure.  If
 * a field and a parameter are both called "state", "params.state" means the parameter.
 * "model.depth" means the member depth of the parameter model, a map.  A value without quotes is
 * read as in a sweep file: 1e-3 is a number, true a boolean, null no value.  Two numbers compare as
 * numbers, everything else as text, byte by byte.
 *
 * If a row lacks the name, or its value is null, the tests "= null" and "in" with null among the
 * values are true; all other tests are false, also != and not in.
 */
#ifndef LUDWIG_CLIENT_TERM_WHERE_H
#define LUDWIG_CLIENT_TERM_WHERE_H

#include "common/base/err.h"
#include "common/data/value.h"

enum { WHERE_BYTES_MAX = 16 * 1024, WHERE_DEPTH_MAX = 50, WHERE_NAMES_MAX = 200 };

/* For --help. */
#define WHERE_HELP                                                                   \
    "\nTEST compares parameters, measures (their last values) and fields of a job\n" \
    "(state, node, rep, attempt, exit_code, cause, reason ...) by = != < <= > >=\n"  \
    "~ (contains) and in; not, and, or and parentheses combine tests:\n"             \
    "'lr >= 1e-3 and (loss > 2 or n in (2, 4))'.\n"                                  \
    "Without a value, a name equals null and matches nothing else.\n"

struct where;

/* A row to test; for `ludwig jobs` a job. */
struct where_row {
    const struct member *fields;
    size_t n_fields;
    const struct value *params; /* a map; NULL: none */
    const struct member *measures;
    size_t n_measures;
};

/* Parses an expression.  Returns it, in the arena, or NULL with e set to ERR_USAGE: "--where:
 * column 9: expected a value, found ..." */
struct where *where_parse(const char *text, struct arena *a, struct err *e);

/* Whether the row matches.  Also remembers which names the row has, for the functions below. */
bool where_matches(struct where *w, const struct where_row *row);

/* Makes name count as seen for where_check_names: rows can have it, even if none so far had it. */
void where_learn(struct where *w, const char *name);

/* Whether each name of the expression was seen in a row so far; true if there was no row. */
bool where_knows_names(const struct where *w);
/* Returns 0, or -1 with e set to ERR_USAGE if no row so far had some name of the expression; the
 * message suggests the nearest name that a row had. */
int where_check_names(const struct where *w, struct err *e);
/* Returns name number i of the expression, from 0; NULL if there are fewer. */
const char *where_name(const struct where *w, size_t i);
/* Returns a name of the expression that meant a field in a row that also had a parameter of that
 * name; or NULL. */
const char *where_shadowing(const struct where *w);

/* All values that a name can have. */
struct where_values {
    const char *name;
    const char *const *values;
    size_t n;
    const char *mistaken; /* a value that users expect; NULL: none */
    const char *hint;     /* the error message for mistaken */
};
/* Returns 0, or -1 with e set to ERR_USAGE if the expression compares the name by =, !=, in or not
 * in with a value that it cannot have. */
int where_check_values(const struct where *w, const struct where_values *known, struct err *e);

#endif

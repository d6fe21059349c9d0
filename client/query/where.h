/* SPDX-License-Identifier: MIT */
/*
 * where.h - expressions for --where: 'lr > 0.01 and state = failed'
 *
 *     TEST         NAME = VALUE, also == != < <= > >=
 *                  NAME ~ TEXT (its text contains it), NAME in (VALUE, ...), NAME not in (...)
 *     EXPRESSION   TEST; not E; E and E; E or E; (E), where not binds closest and or least
 *
 * A name is a field of the row, or else a parameter: "params.state" is the parameter where a field
 * has that name too, "model.depth" is depth in the parameter model, a map.  A value without quotes
 * is read as in a sweep file: 1e-3 is a number, true a boolean, null no value.  Two numbers compare
 * as numbers, everything else as text, byte by byte.
 *
 * A name without a value - the row does not have it, or it is null - matches "= null" and nothing
 * else: every other test of it is false, != and not in as well.
 */
#ifndef LUDWIG_CLIENT_QUERY_WHERE_H
#define LUDWIG_CLIENT_QUERY_WHERE_H

#include "common/base/err.h"
#include "common/data/value.h"

enum { WHERE_BYTES_MAX = 16 * 1024, WHERE_DEPTH_MAX = 50, WHERE_NAMES_MAX = 200 };

/* For --help. */
#define WHERE_HELP                                                                      \
    "\nTEST compares parameters and fields of a job (state, node, rep, attempt,\n"      \
    "exit_code, cause, reason ...) by = != < <= > >= ~ (contains) and in; not, and,\n"  \
    "or and parentheses combine tests: 'lr >= 1e-3 and (opt = adam or n in (2, 4))'.\n" \
    "Without a value, a name equals null and matches nothing else.\n"

struct where;

/* A row to test. */
struct where_row {
    const struct member *fields;
    size_t n_fields;
    const struct value *params; /* a map; NULL: none */
};

/* Lives in a.  Errors are ERR_USAGE: "--where: column 9: expected a value, found the end". */
struct where *where_parse(const char *text, struct arena *a, struct err *e);

/* Also remembers the names of the row, for where_check_names. */
bool where_matches(struct where *w, const struct where_row *row);

/* Whether each name was in one of the rows so far, or there was no row. */
bool where_knows_names(const struct where *w);
/* ERR_USAGE for a name that none of the rows had, with the nearest name that one of them has. */
int where_check_names(const struct where *w, struct err *e);
/* A name that stands for a field in a row which has a parameter of that name too, or NULL. */
const char *where_shadowing(const struct where *w);

/* The only values that a name can have. */
struct where_values {
    const char *name;
    const char *const *values;
    size_t n;
    const char *mistaken; /* a value that people expect, for which hint is printed; NULL: none */
    const char *hint;
};
/* ERR_USAGE if the name is compared by = != or in with a value that it cannot have. */
int where_check_values(const struct where *w, const struct where_values *known, struct err *e);

#endif

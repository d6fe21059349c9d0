/* SPDX-License-Identifier: MIT */
/*
 * opt.h - command line options by a table
 *
 * An option is a row; parsing, --help and "did you mean" all read the rows.
 * Options may stand anywhere, "--" ends them, "--name=value", "--name value",
 * "-n5", "-n 5" and "-fn5" all work.
 */
#ifndef LUDWIG_CLIENT_TERM_OPT_H
#define LUDWIG_CLIENT_TERM_OPT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"

enum opt_type {
    OPT_FLAG, /* bool */
    OPT_STR,  /* const char *, NULL when not given */
    OPT_STRS, /* struct list of const char *: may be given several times */
    OPT_INT,  /* int64_t in min..max, OPT_UNSET when not given */
    OPT_MAYBE /* const char *: only "--name=value" has a value, "--name" is "" */
};

#define OPT_UNSET INT64_MIN

struct opt {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum opt_type type;
    const char *argument; /* what --help calls it */
    size_t offset;
    int64_t min, max;
    const char *help;
};

/* Rows, ended by one without a name, and the struct that they fill. */
struct opt_group {
    const struct opt *rows;
    void *to;
};

struct opt_words {
    char **words;
    size_t n;
};

/* Fills the groups' structs (zeroed before) from words; what is no option goes to rest. */
int opt_parse(const struct opt_group *groups, size_t n_groups, const struct opt_words *words,
              struct arena *a, struct opt_words *rest, struct err *e);

/* One or more lines of at most 79 columns for each row. */
void opt_add_help(struct buf *out, const struct opt *rows);
/* Words wrapped at column width; later lines begin at column indent. */
void opt_add_wrapped_to(struct buf *out, size_t width, size_t column, size_t indent,
                        const char *text);
/* The same at column 79. */
void opt_add_wrapped(struct buf *out, size_t column, size_t indent, const char *text);

#endif

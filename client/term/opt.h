/* SPDX-License-Identifier: MIT */
/*
 * opt.h - parses command line options by a table
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
#include "common/data/schema.h"

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
    const char *argument; /* the value's name in --help */
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

/* Fills the groups' structs (zeroed before) from words; other words go to rest. */
int opt_parse(const struct opt_group *groups, size_t n_groups, const struct opt_words *words,
              struct arena *a, struct opt_words *rest, struct err *e);

/* The row with this name of n bytes or, if name is NULL, with this letter; NULL: there is none, or
 * rows is NULL. */
const struct opt *opt_find(const struct opt *rows, const char *name, size_t n, char letter);

/* The words of "a,b", const char *, in a; empty ones are left out. */
struct list opt_split(struct arena *a, const char *text);

/* Adds one or more lines of at most 79 columns for each row. */
void opt_add_help(struct buf *out, const struct opt *rows);
/* Adds words wrapped at column width; the first line begins at column, later ones at indent. */
void opt_add_wrapped_to(struct buf *out, size_t width, size_t column, size_t indent,
                        const char *text);
/* The same at column 79. */
void opt_add_wrapped(struct buf *out, size_t column, size_t indent, const char *text);

/* The states that --state takes, with commas between or one at a time, and the words that refuse
 * others. */
struct opt_state {
    const char *const *names;
    unsigned n;
    unsigned allowed;    /* bits: 1 << index of a name */
    const char *refusal; /* "no job is ever", which stands before 'nme' */
    /* A word that people take for a state, and the hint for it; NULL: none. */
    const char *mistaken, *hint;
};

/* words: const char *.  *states: the bits of the states that they name; 0 without words. */
int opt_state_read(const struct opt_state *o, const struct list *words, unsigned *states,
                   struct err *e);
/* The names of these states; an empty list for 0. */
struct list opt_state_names(const struct opt_state *o, unsigned states, struct arena *a);

/* The answer to 'state = paused' of a job, for --state and --where. */
#define OPT_STATE_PAUSED \
    "paused is no state of a job; paused jobs are queued: --where 'reason = paused'"

extern const struct opt_state stateopt_jobs, stateopt_sweeps;

#endif

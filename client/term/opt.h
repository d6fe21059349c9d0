/* SPDX-License-Identifier: MIT */
/*
 * opt.h - parses command line options described by a table
 *
 * Each option is a row (struct opt), which parsing, --help and "did you mean" use.  Options may
 * stand before, between and behind other words; "--" ends them.  "--name=value", "--name value",
 * "-n5", "-n 5" and "-fn5" (f a flag) all work.
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
    OPT_MAYBE /* const char *: value of "--name=value", "" for "--name", NULL when not given */
};

#define OPT_UNSET INT64_MIN

struct opt {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum opt_type type;
    const char *argument; /* the value's name in --help */
    size_t offset;        /* of the member to set, in the struct that the options fill */
    int64_t min, max;     /* for OPT_INT */
    const char *help;
};

/* Rows, ended by a row without a name, and the struct that they fill. */
struct opt_group {
    const struct opt *rows;
    void *to;
};

struct opt_words {
    char **words;
    size_t n;
};

/* Fills the groups' structs, which the caller has zeroed, from the options in words.  *rest: the
 * other words, in the arena.  Returns 0, or -1 with e set (ERR_USAGE). */
int opt_parse(const struct opt_group *groups, size_t n_groups, const struct opt_words *words,
              struct arena *a, struct opt_words *rest, struct err *e);

/* Returns the row whose name is the n bytes at name or, if name is NULL, the row with this letter;
 * NULL if there is none.  rows NULL: no rows. */
const struct opt *opt_find(const struct opt *rows, const char *name, size_t n, char letter);

/* Splits text at commas and drops empty words.  Returns const char * in the arena. */
struct list opt_split(struct arena *a, const char *text);

/* Appends the help of each option, in lines of at most 79 columns. */
void opt_add_help(struct buf *out, const struct opt *rows);
/* Appends text with line breaks between words, so that lines have at most width columns, and a
 * newline.  The first line begins at column (out ends there); later lines are indented. */
void opt_add_wrapped_to(struct buf *out, size_t width, size_t column, size_t indent,
                        const char *text);
/* As opt_add_wrapped_to with width 79. */
void opt_add_wrapped(struct buf *out, size_t column, size_t indent, const char *text);

/* The states that --state takes, and the error message for other words. */
struct opt_state {
    const char *const *names;
    unsigned n;
    unsigned allowed;    /* bits: 1 << index of a name */
    const char *refusal; /* "no job is ever": the error's words before the refused word */
    /* A word that users take for a state, and the error message for that word; NULL: none. */
    const char *mistaken, *hint;
};

/* Reads the values of --state: words (const char *), each with one state or several, separated by
 * commas.  Sets *states to bits 1 << index of a name, 0 without words.  Returns 0, or -1 with e
 * set. */
int opt_state_read(const struct opt_state *o, const struct list *words, unsigned *states,
                   struct err *e);
/* Returns the names of the states in this set of bits, const char *; the list is in the arena. */
struct list opt_state_names(const struct opt_state *o, unsigned states, struct arena *a);

/* The error message for `--state paused` and `--where 'state = paused'` of jobs. */
#define OPT_STATE_PAUSED \
    "paused is no state of a job; paused jobs are queued: --where 'reason = paused'"

extern const struct opt_state stateopt_jobs, stateopt_sweeps;

#endif

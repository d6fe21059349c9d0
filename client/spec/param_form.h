/* SPDX-License-Identifier: MIT */
/*
 * param_form.h - the forms in which a parameter's values are written: lists, ranges, distributions
 */
#ifndef LUDWIG_CLIENT_SPEC_PARAM_FORM_H
#define LUDWIG_CLIENT_SPEC_PARAM_FORM_H

#include <stdbool.h>

#include "common/data/yaml_keys.h"

/* The most values in a computed list of one parameter, and points in a grid without --yes. */
enum { POINTS_MAX = 10 * 1000 * 1000 };

enum { PARAM_DIGITS_MAX = 15 }; /* the most digits that round: takes */

enum { PARAM_SHOWN_MAX_BYTES = 60 }; /* of the user's text that a message quotes */

/* method: grid takes PARAM_FIXED and PARAM_LIST; random and sobol take every form. */
enum param_form {
    PARAM_FIXED,       /* one value; never drawn */
    PARAM_LIST,        /* [..], values, range, linspace, logspace: values[0..n-1] */
    PARAM_CHOICE,      /* choice: one of values[0..n-1] */
    PARAM_UNIFORM,     /* between low and high */
    PARAM_LOG_UNIFORM, /* its logarithm is uniform; 0 < low */
    PARAM_INT_UNIFORM, /* whole numbers from first to last, both included */
    PARAM_LOG_INT,     /* such whole numbers, their logarithm uniform; 0 < first */
    PARAM_NORMAL       /* mean low, standard deviation high */
};

struct param {
    const char *name;
    enum param_form form;
    struct value *values; /* FIXED, LIST, CHOICE: at least one */
    size_t n;
    double low, high;
    int64_t first, last;
    int digits; /* round: significant digits of draws of UNIFORM, LOG_UNIFORM, NORMAL; 0: 15 */
    unsigned line, column; /* of its name in the file; 0: from the command line */
    bool was_refused;      /* its value was refused, so that only the name is known */
    const char *note;      /* what its user should know, a line without the name; NULL: nothing */
};

/* Reads a parameter's value, a list or {FORM: ...}, into to, whose name is set and all else zero.
 * Errors begin with that name, unless is_named says that r->file names the parameter already.
 * Returns -1 when errors were added to r; to is not valid then. */
int param_form_read(struct yaml_keys_reader *r, const struct yaml_node *node, bool is_named,
                    struct param *to);
/* Takes the node as the parameter's one value, be it a list or a map. */
int param_form_read_fixed(struct yaml_keys_reader *r, const struct yaml_node *node,
                          struct param *to);

/* Adds the error "WHERE: expected WHAT, found 'the text at this node'".  Always -1. */
int param_form_expected(struct yaml_keys_reader *r, const struct yaml_node *at, const char *where,
                        const char *what);

/* A form that is written {NAME: ARGUMENT}, for the manual, the JSON schema and "did you mean". */
struct param_form_help {
    const char *name;     /* "linspace" */
    const char *argument; /* "[FIRST, LAST, N]" */
    const char *help;     /* one line */
};
extern const struct param_form_help param_forms[]; /* the last one has no name */

const char *param_form_name(enum param_form form); /* "uniform"; of a LIST "values" */

#endif

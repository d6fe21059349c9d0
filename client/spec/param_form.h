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

enum { PARAM_DIGITS_MAX = 15 }; /* of round: */

enum { PARAM_SHOWN_MAX_BYTES = 60 }; /* of what was written, in a message */

/* PARAM_LIST and those before it can be swept; all can be sampled from. */
enum param_form {
    PARAM_FIXED,   /* one value; never drawn */
    PARAM_LIST,    /* [..], values, range, linspace, logspace: values[0..n-1] */
    PARAM_CHOICE,  /* choice: values[0..n-1], with method random or sobol only, as those below */
    PARAM_UNIFORM, /* between low and high */
    PARAM_LOG_UNIFORM, /* its logarithm is uniform; 0 < low */
    PARAM_INT_UNIFORM, /* whole numbers from first to last, both included */
    PARAM_NORMAL       /* mean low, standard deviation high */
};

struct param {
    const char *name;
    enum param_form form;
    struct value *values; /* FIXED, LIST, CHOICE: at least one */
    size_t n;
    double low, high;
    int64_t first, last;
    int digits; /* that draws between low and high, or around low, are rounded to; 0: to 15 */
    unsigned line, column; /* of its name in the file; 0: from the command line */
    bool was_refused;      /* its value was refused, so that only the name is known */
};

/* Reads a parameter's value, a list or {FORM: ...}, into to, whose name is set and all else zero.
 * Errors begin with that name, unless is_named: the reader's file names it already.  -1: errors
 * were added to r, and to is not valid. */
int param_form_read(struct yaml_keys_reader *r, const struct yaml_node *node, bool is_named,
                    struct param *to);
/* The same, but the node is one value: a list is a value, too.  There are no errors. */
int param_form_read_fixed(struct yaml_keys_reader *r, const struct yaml_node *node,
                          struct param *to);

/* Adds the error "WHERE: expected WHAT, found 'the text there'".  Always -1. */
int param_form_expected(struct yaml_keys_reader *r, const struct yaml_node *at, const char *where,
                        const char *what);

/* The long forms, for the manual, the JSON schema and "did you mean": ended by one without a name. */
struct param_form_help {
    const char *name;     /* "linspace" */
    const char *argument; /* "[FIRST, LAST, N]" */
    const char *help;     /* one line */
};
extern const struct param_form_help param_forms[];

const char *param_form_name(enum param_form form); /* "uniform" */

#endif

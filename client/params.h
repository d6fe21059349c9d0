/* SPDX-License-Identifier: MIT */
/*
 * params.h - the parameters of a sweep and the values each of them may take
 */
#ifndef LUDWIG_CLIENT_PARAMS_H
#define LUDWIG_CLIENT_PARAMS_H

#include <stdbool.h>

#include "common/keys.h"

/* Computed lists of one parameter, and a whole grid without --yes, have at most this many. */
enum { POINTS_MAX = 10 * 1000 * 1000 };

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
    unsigned line, column; /* of its name in the file; 0: from the command line */
    bool was_refused;      /* what stands there, so that only its name is known */
};

/* For KEY_CUSTOM: to is a struct list of struct param, read from params: of a sweep file. */
int params_read(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                void *to);
/* The same, but every value stands for itself: a list is one value (debug:). */
int params_read_fixed(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                      void *to);

/* What is wrong with a name of n bytes, which the caller frees; NULL: nothing. */
char *params_name_problem(const char *name, size_t n);

struct param *params_find(const struct list *params, const char *name);
/* "unknown parameter 'x' (did you mean 'y'?)"; the caller frees it. */
char *params_unknown(const struct list *params, const char *name);
/* "lr, hidden and 3 more"; the caller frees it. */
char *params_listed(const struct list *params);
/* Takes the values of those in with, which all are in params. */
void params_overlay(struct list *params, const struct list *with);
/* text is "name=VALUE", VALUE as after "name: " in params:. */
int params_set(struct list *params, const char *text, struct arena *a, struct err *e);

/* Adds the error "WHERE: expected WHAT, found 'what stands there'".  Always -1. */
int params_expected(struct keys_reader *r, const struct yaml_node *at, const char *where,
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

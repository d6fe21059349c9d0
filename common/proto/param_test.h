/* SPDX-License-Identifier: MIT */
/*
 * param_test.h - a test of one parameter of a configuration: optimizer=lion, lr >= 0.5
 *
 * Its text can be given to --where (client/term/where.h).
 */
#ifndef LUDWIG_COMMON_PROTO_PARAM_TEST_H
#define LUDWIG_COMMON_PROTO_PARAM_TEST_H

#include <stdbool.h>

#include "common/data/value.h"

enum param_op { PARAM_IS, PARAM_AT_LEAST, PARAM_AT_MOST };

struct param_test {
    const char *name; /* the parameter's name */
    enum param_op op;
    struct value value; /* for AT_LEAST and AT_MOST a number that is not NaN */
};

/* Whether v is a number and not NaN; then *x is the number. */
bool param_number(const struct value *v, double *x);

/* Whether the configuration params, a map, passes the test.  It does not if it lacks the
 * parameter. */
bool param_test_holds(const struct param_test *t, const struct value *params);

/* Appends the test's text: "optimizer=lion", "lr >= 0.5", 'name="a b"'.  A parameter with the name
 * of a job's field is written params.NAME. */
void param_test_add(struct buf *out, const struct param_test *t);

/* Appends text in single quotes, as one word of a shell. */
void param_test_add_word(struct buf *out, const char *text);

/* The names of a job's fields, which --where takes for fields and not for parameters.  NULL marks
 * the end. */
extern const char *const param_test_fields[];

#endif

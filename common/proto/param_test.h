/* SPDX-License-Identifier: MIT */
/*
 * param_test.h - a test of one parameter of a configuration: optimizer=lion, lr >= 0.5
 *
 * It is written so that --where reads it (client/query/where.h).
 */
#ifndef LUDWIG_COMMON_PROTO_PARAM_TEST_H
#define LUDWIG_COMMON_PROTO_PARAM_TEST_H

#include <stdbool.h>

#include "common/data/value.h"

enum param_op { PARAM_IS, PARAM_AT_LEAST, PARAM_AT_MOST };

struct param_test {
    const char *name; /* of the parameter */
    enum param_op op;
    struct value value; /* for AT_LEAST and AT_MOST a number that is no NaN */
};

/* Whether v is a number that has an order; *x is the number then. */
bool param_number(const struct value *v, double *x);

/* params: the configuration, a map.  A parameter that it does not have passes no test. */
bool param_test_holds(const struct param_test *t, const struct value *params);

/* Appends "optimizer=lion", "lr >= 0.5", 'name="a b"'.  A parameter with the name of a job's field
 * is written params.NAME. */
void param_test_add(struct buf *out, const struct param_test *t);

/* Appends text in single quotes, as one word of a shell. */
void param_test_add_word(struct buf *out, const char *text);

/* The names of a job's fields, which --where reads as such; a NULL behind the last. */
extern const char *const param_test_fields[];

#endif

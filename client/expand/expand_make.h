/* SPDX-License-Identifier: MIT */
/*
 * expand_make.h - makes from a plan wheels that turn, rules for leaving out, and slots with the
 * values of parameters
 *
 * A wheel is a parameter that takes several values, or a zip group.  The configurations come in
 * parts: part 0 is the grid or the samples, part i the additions of entry i - 1 of include:.
 */
#ifndef LUDWIG_CLIENT_EXPAND_EXPAND_MAKE_H
#define LUDWIG_CLIENT_EXPAND_EXPAND_MAKE_H

#include "client/spec/sample.h"
#include "common/base/buf.h"
#include "common/base/hash_table.h"

/* The state of a parameter. */
struct slot {
    const struct param *param;
    struct bytes piece;           /* in msgpack: its name, followed by its value if that is fixed */
    size_t n_key;                 /* bytes of the name in piece */
    struct wheel *wheel;          /* NULL: the parameter has one value */
    const struct rule *condition; /* NULL: the parameter is always present */
    bool is_present;
    const struct value *given; /* the value by include: in this part; or NULL */
    struct value drawn;        /* the value drawn from a distribution */
    struct hash_table
        *named;         /* numbers of the values that pins of when: and exclude: name; or NULL */
    const int *numbers; /* number of each of param->values; NULL: no pin names the parameter */
    int number;         /* of given or drawn, by expand_number_of */
    bool *is_possible;  /* for each number: whether the parameter can take that value */
    size_t depth;       /* how many wheels, from the slowest on, decide presence and value */
    size_t begin;       /* the parameter's offset in expand.point */
};

struct wheel {
    const struct zip_group *group; /* NULL: one parameter */
    struct slot **slots;           /* the first in the file first */
    size_t n_slots;
    size_t n;          /* places in the lists of values; 0: a distribution, which has none */
    size_t at;         /* the current place */
    bool is_held;      /* include: fixes its parameters in this part */
    bool is_entangled; /* a condition or exclude: names one of its parameters */
    struct sampler sampler;
};

/* A pin, which is met when the slot has one of these values. */
struct test {
    const struct slot *slot;
    const int *numbers; /* from slot->named */
    size_t n;
};

/* A rule is met when all tests are. */
struct rule {
    const struct pins *pins;
    struct test *tests;
    size_t n;
    size_t depth; /* how many wheels, from the slowest on, decide whether it is met */
    bool is_met;  /* some configuration meets the rule */
};

struct expand {
    const struct plan *plan;
    struct arena *arena;
    struct slot *slots;
    size_t n_slots;
    struct slot **conditioned; /* slots with a condition, each behind those that it names */
    size_t n_conditioned;
    struct wheel *wheels; /* the slowest first */
    size_t n_wheels;
    struct rule *excludes;
    size_t n_excludes;

    size_t part;
    size_t n_parts;
    int64_t *counts; /* of each part */
    int64_t count;
    bool is_given_up;       /* none of the first POINTS_MAX configurations is kept */
    struct wheel **turning; /* the wheels that turn in this part of a grid */
    size_t n_turning;
    int64_t sample;   /* number of the current sample */
    int64_t left;     /* configurations left in this part, with the current one */
    struct buf point; /* the last configuration given */
    size_t n_present, n_encoded;
    size_t changed; /* number of the first slot that may differ from point */
};

/* Makes slots, wheels and rules; all other members are zero. */
struct expand *expand_make(const struct plan *plan);

/* Returns the number of v among the values that pins name for the slot; EXPAND_NO_NUMBER: none
 * does.  Values that make the same configuration, as 1 and 1.0, have the same number. */
enum { EXPAND_NO_NUMBER = -1 };
int expand_number_of(const struct slot *s, const struct value *v);

#endif

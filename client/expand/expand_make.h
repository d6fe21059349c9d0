/* SPDX-License-Identifier: MIT */
/*
 * expand_make.h - a plan as wheels that turn, rules that leave out, and slots that show where they are
 *
 * A wheel is a parameter that takes several values, or a zip group.  The configurations
 * come in parts: part 0 is the grid or the samples, part i what entry i - 1 of include: adds.
 */
#ifndef LUDWIG_CLIENT_EXPAND_EXPAND_MAKE_H
#define LUDWIG_CLIENT_EXPAND_EXPAND_MAKE_H

#include "client/spec/sample.h"
#include "common/base/buf.h"
#include "common/base/hash_table.h"

/* A parameter. */
struct slot {
    const struct param *param;
    struct bytes piece;  /* in msgpack: its name, and behind that its value if it is fixed */
    size_t n_key;        /* of the bytes of piece: the name alone */
    struct wheel *wheel; /* NULL: it has one value */
    const struct rule *condition; /* NULL: always there */
    bool is_present;
    const struct value *given; /* by include:, in this part; NULL: not */
    struct value drawn;        /* from a distribution */
    struct hash_table
        *named;         /* numbers of the values that pins of when: and exclude: name; or NULL */
    const int *numbers; /* of each of param->values; NULL: no pin names it */
    int number;         /* the same of given or drawn */
    bool *is_possible;  /* of each number: does it ever take that value? */
    size_t depth;       /* so many wheels, from the slowest on, say whether and what it is */
    size_t begin;       /* in the point */
};

struct wheel {
    const struct zip_group *group; /* NULL: one parameter */
    struct slot **slots;           /* the first in the file first */
    size_t n_slots;
    size_t n;          /* places; 0: a distribution, which has none */
    size_t at;         /* the place that is up */
    bool is_held;      /* in this part: include: says what its parameters are */
    bool is_entangled; /* conditions or exclude: have to do with it */
    struct sampler sampler;
};

/* A pin: the slot has one of these values. */
struct test {
    const struct slot *slot;
    const int *numbers; /* as slot->named has them */
    size_t n;
};

/* All of these together. */
struct rule {
    const struct pins *pins;
    struct test *tests;
    size_t n;
    size_t depth; /* so many wheels, from the slowest on, decide */
    bool is_met;  /* by some configuration */
};

struct expand {
    const struct plan *plan;
    struct arena *arena;
    struct slot *slots;
    size_t n_slots;
    struct slot **conditioned; /* each behind those that its condition names */
    size_t n_conditioned;
    struct wheel *wheels; /* the slowest first */
    size_t n_wheels;
    struct rule *excludes;
    size_t n_excludes;

    size_t part;
    size_t n_parts;
    int64_t *counts; /* of each part */
    int64_t count;
    bool is_given_up;       /* so many were left out that no first one was found */
    struct wheel **turning; /* those that turn in this part of a grid */
    size_t n_turning;
    int64_t sample; /* number of the sample that is up */
    int64_t left;   /* in this part, with the one that is up */

    struct buf point; /* the last one that was handed out */
    size_t n_present, n_encoded;
    size_t changed; /* number of the first slot that may differ from the one in point */
};

/* Slots, wheels and rules; all else is zero. */
struct expand *expand_make(const struct plan *plan);

/* Two values have the same number when they make the same configuration: 1 and 1.0. */
enum { EXPAND_NO_NUMBER = -1 };
int expand_number_of(const struct slot *s, const struct value *v);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * value.h - a typed value, as YAML's core schema, JSON and msgpack share it
 *
 * Values live in an arena and are not changed after they were made.  Maps keep
 * their order and have string keys, each at most once.
 */
#ifndef LUDWIG_COMMON_DATA_VALUE_H
#define LUDWIG_COMMON_DATA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STR,
    VALUE_BIN, /* msgpack only */
    VALUE_LIST,
    VALUE_MAP
};

struct member;

struct value {
    enum value_type type;
    union {
        bool b;
        int64_t i;
        double f;
        struct {
            const char *s; /* a NUL follows; may hold NULs inside */
            size_t n;
        } str; /* STR and BIN */
        struct {
            struct value *items;
            size_t n;
        } list;
        struct {
            struct member *members;
            size_t n;
        } map;
    };
};

struct member {
    struct value key; /* always STR */
    struct value value;
};

/* "a number", "a list": for messages */
const char *value_type_name(enum value_type type);

struct value value_null(void);
struct value value_bool(bool b);
struct value value_int(int64_t i);
struct value value_float(double f);
struct value value_str(const char *s); /* does not copy */
struct value value_strn(const char *s, size_t n);

struct member value_member(const char *key, struct value v); /* does not copy */
struct value value_list(struct value *items, size_t n);      /* does not copy */
/* The members are copied into a. */
struct value value_map(struct arena *a, const struct member *members, size_t n);

const struct value *value_get(const struct value *map, const char *key); /* NULL if absent */
/* Deep copy into a. */
struct value value_copy(struct arena *a, const struct value *v);
/* How deep lists and maps are nested: 0 for a number, 1 for [1, 2], 2 for {a: [1]}. */
size_t value_depth(const struct value *v);
/*
 * Same type and content: 1 and 1.0 differ, 0.0 and -0.0 differ, nan equals nan, and the order of a
 * map's keys does not matter (see param_digest.h for "the same configuration").
 */
bool value_equal(const struct value *x, const struct value *y);

/*
 * The index of the first item whose key an earlier item has too, or n.  Takes time n log n, so
 * that a peer's map with a million keys can be checked.
 */
typedef struct bytes (*value_key_fn)(const void *items, size_t i);
size_t value_find_repeated(const void *items, size_t n, value_key_fn key_of);
/* Compares by bytes, a prefix before longer keys: the order of param_digest.h. */
int value_compare_keys(struct bytes x, struct bytes y);

/*
 * The shortest decimal that reads back as the same double, always with a point
 * or an exponent ("1.0", "0.1", "1e-05"), "nan", "inf" or "-inf".  As Python's repr().
 */
void value_add_float(struct buf *out, double f);

#endif

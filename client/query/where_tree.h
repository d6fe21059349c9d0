/* SPDX-License-Identifier: MIT */
/*
 * where_tree.h - an expression of --where as it was read: for where.c and where_parse.c alone
 */
#ifndef LUDWIG_CLIENT_QUERY_WHERE_TREE_H
#define LUDWIG_CLIENT_QUERY_WHERE_TREE_H

#include "client/query/where.h"
#include "common/base/buf.h"

enum where_op {
    WHERE_EQUAL,
    WHERE_DIFFERENT,
    WHERE_LESS,
    WHERE_AT_MOST,
    WHERE_GREATER,
    WHERE_AT_LEAST,
    WHERE_CONTAINS,
    WHERE_IN,
    WHERE_NOT_IN
};

struct where_literal {
    struct value value;
    struct bytes text; /* as it was written, without its quotes */
};

struct where_test {
    size_t name; /* index */
    enum where_op op;
    struct where_literal *literals; /* one; with in: at least one */
    size_t n;
};

enum where_node_type { WHERE_TEST, WHERE_AND, WHERE_OR };

struct where_node {
    enum where_node_type type;
    bool is_negated;
    struct where_test test;
    struct where_node *parts; /* of an and, an or: the first */
    struct where_node *next;  /* of the same and, or */
};

struct where_name {
    const char *text;
    bool is_seen;
    bool is_shadowing;         /* it was a field where a parameter has the name too */
    const struct value *value; /* in the row that is looked at; NULL: it does not have it */
};

struct where {
    struct arena *arena;
    struct where_node *root;
    struct where_name *names;
    size_t n_names;
    size_t n_rows;        /* looked at so far */
    const char **learned; /* names that rows have */
    size_t n_learned;
};

#endif

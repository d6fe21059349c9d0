/* SPDX-License-Identifier: MIT */
/*
 * yaml.h - YAML 1.2 core schema to a tree whose nodes keep their line and column
 *
 * libyaml parses; scalars get their types as a user of the core schema expects
 * (1e-3 is a number, no and 2024-01-01 are strings; quoted is a string).
 * Aliases and merge keys (<<) work; the tree they make is bounded (a billion
 * laughs is refused), as are depth and size.  Duplicate keys, tabs as
 * indentation, NUL bytes and invalid UTF-8 are errors.  Every error reads "FILE:LINE:COLUMN: what".
 */
#ifndef LUDWIG_COMMON_DATA_YAML_H
#define LUDWIG_COMMON_DATA_YAML_H

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/value.h"

enum {
    YAML_DEPTH_MAX = 32,
    YAML_NODES_MAX = 4 * 1000 * 1000,
    YAML_BYTES_MAX = 64 * 1024 * 1024,
    YAML_ANCHORS_MAX = 1000
};

struct yaml_member;

struct yaml_node {
    enum value_type type;
    unsigned line;               /* from 1 */
    unsigned column;             /* from 1 */
    struct value scalar;         /* when type is neither LIST nor MAP */
    const char *text;            /* the scalar as written, without its quotes */
    struct yaml_node *items;     /* LIST */
    struct yaml_member *members; /* MAP */
    size_t n;                    /* of items or members */
};

struct yaml_member {
    const char *key; /* scalars as keys are taken as their text */
    unsigned line, column;
    struct yaml_node node;
};

/* Parses n bytes of text; name is what errors call the file.  The tree lives in a; the root of an
 * empty text has type VALUE_NULL. */
struct yaml_node *yaml_parse(const char *name, const char *text, size_t n, struct arena *a,
                             struct err *e);
struct yaml_node *yaml_parse_file(const char *path, struct arena *a, struct err *e);

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
struct value yaml_value(const struct yaml_node *node, struct arena *a);

/* Sets e to "NAME:LINE:COLUMN: ..." (ERR_USAGE) and returns -1. */
int yaml_error(struct err *e, const char *name, const struct yaml_node *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * Appends the value as YAML text, one or more whole lines, that yaml_parse and YAML 1.1 parsers
 * such as PyYAML's read back to the same value.  Exceptions: BIN becomes text in hex, bytes that
 * are not UTF-8 become U+FFFD, and keys with a NUL inside are refused when read.
 */
void yaml_add_value(struct buf *out, const struct value *v);

#endif

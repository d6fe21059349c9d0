/* SPDX-License-Identifier: MIT */
/*
 * yaml_keys.h - reads a YAML map by a table of its keys
 *
 * A row describes a key: its name, how its value is read, where the value goes, what
 * the manual says about it.  An error for an unknown key names the nearest known one;
 * keys that begin with "x-" are the user's own (a place for anchors) and ignored.  All
 * errors of a map are found in one pass: each is one line of e->text with file, line
 * and column.
 */
#ifndef LUDWIG_COMMON_DATA_YAML_KEYS_H
#define LUDWIG_COMMON_DATA_YAML_KEYS_H

#include "common/data/schema.h"
#include "common/data/yaml.h"

enum key_type {
    KEY_STR,      /* const char * */
    KEY_STRS,     /* struct list of const char *: one string or a list of them */
    KEY_BOOL,     /* bool */
    KEY_INT,      /* int64_t, 0..max */
    KEY_SIZE,     /* int64_t bytes: 2GiB */
    KEY_DURATION, /* int64_t ms: 10min */
    KEY_MILLI,    /* int64_t thousandths: 0.5 */
    KEY_MAP,      /* a struct in place, read by the rows of */
    KEY_VALUE,    /* struct value: anything */
    KEY_CUSTOM    /* read() does it */
};

struct yaml_keys_reader;
struct key;

typedef int (*key_read_fn)(struct yaml_keys_reader *r, const struct key *key,
                           const struct yaml_node *node, void *to);

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    int64_t max;          /* 0: no limit */
    const struct key *of; /* KEY_MAP: rows, ended by one without a name */
    key_read_fn read;     /* KEY_CUSTOM: 0, or -1 after yaml_keys_error */
    const char *help;     /* one line for the manual */
    int64_t min;          /* the least number, size or duration */
    const char *schema;   /* more members for its JSON Schema than the type gives; or NULL */
};

struct yaml_keys_reader {
    const char *file;
    struct arena *arena;
    void *context; /* for read functions */
    size_t n_errors;
    struct buf errors;
};

/* Reads node (a map) into *to.  Errors are collected in r; returns -1 if any was. */
int yaml_keys_read(struct yaml_keys_reader *r, const struct key *rows, const struct yaml_node *node,
                   void *to);
/* Adds "FILE:L:C: ..." to the reader's errors.  Always returns -1. */
int yaml_keys_error(struct yaml_keys_reader *r, const struct yaml_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns 0 without errors, else -1 with e set (ERR_USAGE, an error per line); frees r's memory. */
int yaml_keys_end(struct yaml_keys_reader *r, struct err *e);

/* Reads a whole file; a missing file is ERR_NOT_FOUND. */
int yaml_keys_read_file(const char *path, const struct key *rows, struct arena *a, void *to,
                        struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * dir_names.h - sorts the names in a folder by strcmp, however many there are
 *
 * Beyond DIR_NAMES_BYTES the names are sorted in runs, which lie in temporary files.
 */
#ifndef LUDWIG_CLIENT_UTIL_DIR_NAMES_H
#define LUDWIG_CLIENT_UTIL_DIR_NAMES_H

#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum { DIR_NAMES_BYTES = 4 * 1024 * 1024 };

/* A run: sorted names in a temporary file, and the next one. */
struct dir_names_run {
    FILE *file;
    char *next; /* NULL: at the end */
    size_t capacity;
};

/* Zero-initialised is empty. */
struct dir_names {
    struct buf text; /* names in memory, each with its NUL */
    size_t *begins;  /* offsets in text */
    size_t n, capacity;
    size_t at; /* index of the next name */
    struct dir_names_run *runs;
    size_t n_runs, runs_capacity;
    struct buf last;  /* the last name given */
    size_t run_bytes; /* of names in memory; 0: DIR_NAMES_BYTES */
};

int dir_names_add(struct dir_names *l, const char *name, struct err *e);
/* Call it when all names were added. */
int dir_names_sort(struct dir_names *l, struct err *e);
/* Returns 1 with the next name, valid until the next call, or 0 at the end.  Equal names come
 * once. */
int dir_names_next(struct dir_names *l, const char **name, struct err *e);
void dir_names_free(struct dir_names *l);

#endif

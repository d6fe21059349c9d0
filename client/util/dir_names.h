/* SPDX-License-Identifier: MIT */
/*
 * dir_names.h - the names in a folder, sorted as strcmp has it, however many there are
 *
 * Beyond DIR_NAMES_BYTES they are sorted in runs that lie in temporary files.
 */
#ifndef LUDWIG_CLIENT_UTIL_DIR_NAMES_H
#define LUDWIG_CLIENT_UTIL_DIR_NAMES_H

#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum { DIR_NAMES_BYTES = 4 * 1024 * 1024 };

/* Sorted names in a file, and the one that comes next. */
struct dir_names_run {
    FILE *file;
    char *next; /* NULL: there is none */
    size_t capacity;
};

/* Zero-initialised is empty. */
struct dir_names {
    struct buf text; /* with their NULs */
    size_t *begins;  /* in text */
    size_t n, capacity;
    size_t at; /* the next one */
    struct dir_names_run *runs;
    size_t n_runs, runs_capacity;
    struct buf last;  /* the one handed out */
    size_t run_bytes; /* 0: DIR_NAMES_BYTES */
};

int dir_names_add(struct dir_names *l, const char *name, struct err *e);
/* When all were added. */
int dir_names_sort(struct dir_names *l, struct err *e);
/* 1 with the next one, valid until the next call; equal ones come once.  0: that was all. */
int dir_names_next(struct dir_names *l, const char **name, struct err *e);
void dir_names_free(struct dir_names *l);

#endif

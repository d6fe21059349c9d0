/* SPDX-License-Identifier: MIT */
/*
 * portable_names.h - names that every system on the share can show
 *
 * Bytes that SMB clients cannot show are percent-encoded; if names differ in case only, all but the
 * first get "~2", "~3", ...; names that are then too long are cut and end in a digest.  The same
 * names always give the same result.
 */
#ifndef LUDWIG_WORKER_SAVED_PORTABLE_NAMES_H
#define LUDWIG_WORKER_SAVED_PORTABLE_NAMES_H

#include "common/base/err.h"
#include "common/base/mem.h"

struct portable_names_name {
    const char *name; /* the present name */
    const char *to;   /* the portable name; the same pointer if name is portable */
};

/* Fills in "to" for all names of a folder, and sorts them by the bytes of "name".  taken: NULL, or
 * names, with a NULL at their end, that none may get, nor one that differs in case only. */
void portable_names_names(struct portable_names_name *names, size_t n, const char *const *taken,
                          struct arena *a);

/* ---- walking a tree ---- */

struct portable_names_entry {
    const char *folder;        /* present path, below the top, of the folder that has the entry */
    const char *name, *wanted; /* its present and its portable name */
    const char *path, *to;     /* its present and its portable path below the top */
};

struct portable_names_walk {
    struct arena *arena;      /* has all strings */
    const char *const *taken; /* names that no entry of the top folder may get, then NULL */
    /* Opens a folder for the walk, which closes it; leaves *fd -1 to skip it.  The top's paths are
     * "". */
    int (*open)(void *context, const char *path, const char *to, int *fd, struct err *e);
    /* Returns 1 if the entry is a folder that the walk is to enter, else 0, or -1 with e set. */
    int (*each)(void *context, int dir_fd, const struct portable_names_entry *entry, struct err *e);
    void *context;
};

/* Calls each for every entry of a tree, for a folder before its entries; stops at -1. */
int portable_names_walk(const struct portable_names_walk *w, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * portable_names.h - names that every system on the share can show
 *
 * What SMB clients cannot show is percent-encoded byte by byte; of names that
 * differ in case only, all but the first get "~2", "~3", ...; what is then too
 * long ends in a digest.  The same names always give the same answer.
 */
#ifndef LUDWIG_WORKER_SAVED_PORTABLE_NAMES_H
#define LUDWIG_WORKER_SAVED_PORTABLE_NAMES_H

#include "common/base/err.h"
#include "common/base/mem.h"

struct portable_names_name {
    const char *name; /* as it is */
    const char *to;   /* as it should be; the same pointer when it may stay */
};

/* Fills in "to" for all names of a folder, which are sorted by bytes on return.  taken: a name
 * that none of them may have (or differ from in case only), or NULL. */
void portable_names_names(struct portable_names_name *names, size_t n, const char *taken,
                          struct arena *a);

/* ---- walking a tree ---- */

struct portable_names_entry {
    const char *folder;        /* the path below the top of the folder that it lies in, as it is */
    const char *name, *wanted; /* its name, and as that should be */
    const char *path, *to;     /* its path below the top, and as that should be */
};

struct portable_names_walk {
    struct arena *arena; /* of all strings */
    const char *taken;   /* a name that nothing in the top folder may have */
    /* Opens a folder; of the top all paths are "".  *fd stays -1 when it is left out. */
    int (*open)(void *context, const char *path, const char *to, int *fd, struct err *e);
    /* 1: it is a folder, and to be walked too. */
    int (*each)(void *context, int dir_fd, const struct portable_names_entry *entry, struct err *e);
    void *context;
};

/* Calls each for all that lies in a tree, for folders before what is in them; stops at -1. */
int portable_names_walk(const struct portable_names_walk *w, struct err *e);

#endif

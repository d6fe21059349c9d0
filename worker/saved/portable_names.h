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

#include <dirent.h>

#include "common/base/mem.h"

struct portable_names_name {
    const char *name; /* as it is */
    const char *to;   /* as it should be; the same pointer when it may stay */
};

/* Fills in "to" for all names of a folder, which are sorted by bytes on return.  taken: a name
 * that none of them may have (or differ from in case only), or NULL. */
void portable_names_names(struct portable_names_name *names, size_t n, const char *taken,
                          struct arena *a);

/* Names of a folder, to be freed; errno is not 0 when it could not be read to its end. */
struct portable_names_name *portable_names_list(DIR *dir, size_t *n, struct arena *a);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * environment_files.h - the files that an environment is built from on a node
 *
 * What a requirements.txt or an environment.yml names by a relative path goes along: further files of that
 * kind, constraints, wheels, and folders of wheels (--find-links).  What it names by an absolute path or an
 * address is left to the node.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_FILES_H
#define LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_FILES_H

#include "client/spec/spec.h"

struct environment_files {
    const char *top;   /* the folder below which they lie: the sweep file's, if that will do */
    const char *file;  /* below top: what it is built from */
    struct list files; /* const char *, below top */
};

/* For s->environment with a tool; all of it in a. */
int environment_files_find(const struct spec *s, struct arena *a, struct environment_files *found,
                           struct err *e);

#endif

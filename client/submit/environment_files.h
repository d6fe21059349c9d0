/* SPDX-License-Identifier: MIT */
/*
 * environment_files.h - finds the files that an environment is built from on a node
 *
 * What a requirements.txt or an environment.yml names by a relative path is uploaded too: further
 * files of that kind, constraints, wheels, and folders of wheels (--find-links).  What it names by
 * an absolute path, an address or a $VARIABLE has to be on the node.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_FILES_H
#define LUDWIG_CLIENT_SUBMIT_ENVIRONMENT_FILES_H

#include "client/spec/spec.h"

struct environment_files {
    const char *top;   /* absolute folder with all of them: the sweep file's if possible */
    const char *file;  /* the tool's file, as requirements.txt, relative to top */
    struct list files; /* const char *, relative to top; file is the first */
};

/* Fills found, in a, for s->environment, whose tool must be set.  Fails where a file that is named
 * is not there or lies outside of top, or where a node could not build a package. */
int environment_files_find(const struct spec *s, struct arena *a, struct environment_files *found,
                           struct err *e);

#endif

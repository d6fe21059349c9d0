/* SPDX-License-Identifier: MIT */
/*
 * ignore.h - which files of a source tree are no part of the program
 *
 * What no program needs (.git, __pycache__) is always left out.  The rest is git's to say:
 *
 *     the tree has a .ludwigignore    files of that name hold, there and below; no repository does
 *     it lies in a repository         what that ignores: .gitignore there, above and below,
 *                                     info/exclude, core.excludesFile; never what git tracks
 *     neither, or the repository      .gitignore there and below
 *     ignores the whole tree
 *
 * Below, a repository in the tree is one of its own, as to git, and so is what a link leads to.
 * git is asked once for each of them, when it is first needed; without rules it need not be there.
 */
#ifndef LUDWIG_CLIENT_PACK_IGNORE_H
#define LUDWIG_CLIENT_PACK_IGNORE_H

#include <stdbool.h>

#include "common/base/err.h"

struct ignore;
/* A folder with all that is below it and has the same rules; lasts as long as the struct ignore. */
struct ignore_scope;

/* root: absolute.  What git said is kept until ignore_destroy. */
struct ignore *ignore_create(const char *root);
void ignore_destroy(struct ignore *ig); /* NULL is fine */
/* Nothing is asked about what is in that folder (absolute), so that git need not look into it; before
 * anything is entered. */
void ignore_skip(struct ignore *ig, const char *folder);

/* What holds in a folder (absolute) that lies in one where above holds; above NULL: it is the root. */
int ignore_enter(struct ignore *ig, struct ignore_scope *above, const char *folder,
                 struct ignore_scope **scope, struct err *e);
/* 1: it is left out; 0; -1: git was needed, and failed or is not installed.  path: absolute, in a folder
 * where scope holds; scope NULL: only what no program needs is left out. */
int ignore_matches(struct ignore_scope *scope, const char *path, bool is_folder, struct err *e);

/* Whether git is installed, and not too old to be asked. */
int ignore_check_git(struct err *e);

#endif

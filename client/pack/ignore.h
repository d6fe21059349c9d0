/* SPDX-License-Identifier: MIT */
/*
 * ignore.h - rules for files that are left out of a source tree
 *
 * Names that no program needs (.git, __pycache__) are always left out.  For the rest git is asked:
 *
 *     the tree has a .ludwigignore    files of that name, there and below; no repository's rules
 *     it lies in a repository         the repository's rules: .gitignore there, above and below,
 *                                     info/exclude, core.excludesFile; never files that git tracks
 *     neither, or the repository      .gitignore there and below
 *     ignores the whole tree
 *
 * A repository below, and a folder that a link leads to, have their own rules, as for git.  git is
 * asked once for each, when its answer is first needed; without rules git need not be installed.
 */
#ifndef LUDWIG_CLIENT_PACK_IGNORE_H
#define LUDWIG_CLIENT_PACK_IGNORE_H

#include <stdbool.h>

#include "common/base/err.h"

struct ignore;
/* A folder and all below it that has the same rules; lasts as long as the struct ignore. */
struct ignore_scope;

/* root: absolute.  git's answers are kept until ignore_destroy. */
struct ignore *ignore_create(const char *root);
void ignore_destroy(struct ignore *ig); /* NULL is fine */
/* Promises that no path in that folder (absolute) will be asked for, so that git need not look into
 * it; call it before the first ignore_enter. */
void ignore_skip(struct ignore *ig, const char *folder);

/* Finds the scope of an absolute folder; above is that of its parent, NULL for the root. */
int ignore_enter(struct ignore *ig, struct ignore_scope *above, const char *folder,
                 struct ignore_scope **scope, struct err *e);
/* Returns 1 if the absolute path, in a folder of scope, is left out, 0 if not, and -1 with e set if
 * git was needed and failed or is not installed.  scope NULL: only built-in names are left out. */
int ignore_matches(struct ignore_scope *scope, const char *path, bool is_folder, struct err *e);

/* 0 if git is installed and new enough; else -1 with e set. */
int ignore_check_git(struct err *e);

#endif

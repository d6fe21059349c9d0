/* SPDX-License-Identifier: MIT */
/*
 * ignore.h - which files of a folder are no part of the program
 *
 * Patterns as git has them in .gitignore: *, ?, [a-z], **, a trailing / for folders,
 * a / elsewhere to anchor, ! to take back.  Where the folder has a .ludwigignore,
 * files of that name are read, there and below; else .gitignore, from the top of
 * the repository on.  What no program needs (.git, __pycache__) is always ignored
 * unless taken back by name.
 */
#ifndef LUDWIG_CLIENT_IGNORE_H
#define LUDWIG_CLIENT_IGNORE_H

#include <stdbool.h>

#include "common/err.h"

struct ignore;

/* root is an absolute path.  own_rules: without them only the built-in ones hold. */
struct ignore *ignore_create(const char *root, bool own_rules, struct err *e);
void ignore_destroy(struct ignore *ig); /* NULL is fine */

/* Reads the rules that lie in a folder below root; ignore_leave(mark) forgets them again. */
int ignore_enter(struct ignore *ig, const char *dir, size_t *mark, struct err *e);
void ignore_leave(struct ignore *ig, size_t mark);

/* path: absolute, in a folder that was entered. */
bool ignore_matches(const struct ignore *ig, const char *path, bool is_dir);

#endif

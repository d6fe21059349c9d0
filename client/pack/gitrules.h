/* SPDX-License-Identifier: MIT */
/*
 * gitrules.h - what git leaves out
 *
 * Lists are of paths below the folder, each with its NUL, in the order of strcmp; those of folders end in /, and
 * nothing below them follows, unless it is only all that is in them that is left out.  No repository is written to.
 */
#ifndef LUDWIG_CLIENT_PACK_GITRULES_H
#define LUDWIG_CLIENT_PACK_GITRULES_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/schema.h"

/* Whether git is installed, and not too old to be asked. */
int gitrules_check(struct err *e);
/* Whether a repository begins there. */
bool gitrules_is_top(const char *folder);
/* Where the repository begins that a folder (absolute, without links) lies in, as git looks for it;
 * NULL: it lies in none.  Caller frees. */
char *gitrules_find_top(const char *folder);
/* Of the repository that begins at top and has the folder in it; ERR_NOT_FOUND: what begins there is
 * none to git, such as a copied submodule.  1: it ignores the folder itself; 0; -1. */
int gitrules_ignores(const char *top, const char *folder, struct err *e);
/* What it ignores in the folder.  skipped: folders (const char *, below top) that git need not look
 * into; they may be in the list. */
int gitrules_list(const char *top, const char *folder, const struct list *skipped, struct buf *out,
                  struct err *e);
/* Where it has others' commits (submodules), below top: each path with its NUL, sorted. */
int gitrules_list_links(const char *top, struct buf *out, struct err *e);
/* What files of that name leave out in a folder, which is top or lies below it; they hold from top on,
 * and repositories have no part in it. */
int gitrules_list_by(const char *file_name, const char *top, const char *folder,
                     const struct list *skipped, struct buf *out, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * walk.h - gives the entries of a tree one after the other, in the order of pack_path_compare
 *
 * Memory holds the names in the folders that are open.  Symlinks are entries and never followed,
 * except where a path was named itself.  Entries other than files, folders and symlinks are
 * refused.
 */
#ifndef LUDWIG_CLIENT_PACK_WALK_H
#define LUDWIG_CLIENT_PACK_WALK_H

#include <sys/stat.h>

#include "client/pack/ignore.h"
#include "common/pack/pack.h"

/* The entries of a walk; all pointers must outlive the walk. */
struct walk_plan {
    const char *top; /* absolute; a folder, or a file, which is the only entry then */
    bool everything; /* all entries; else only the named ones */
    /* Paths below top, taken with all their entries but those that rules leave out; a folder that
     * the rules leave out is taken with all its entries. */
    const char *const *named;
    size_t n_named;
    struct ignore *rules; /* NULL: none, not even the built-in ones */
    /* Paths that are left out unless they are named. */
    const char *const *left_out; /* absolute */
    size_t n_left_out;
    /* Whether an entry is left out that is not named; from: absolute, path: in the tree.  May be
     * NULL. */
    bool (*leaves_out)(void *context, const char *from, const char *path, bool is_folder);
    void *context;
};

struct walk_entry {
    const char *path;   /* in the tree; "" when the tree is one file */
    const char *from;   /* path on this machine */
    const char *target; /* of a symlink */
    struct stat stat;
    enum pack_kind kind; /* never PACK_HARD_LINK */
};

/* Whether the path in the tree, or one below it, is named. */
bool walk_leads_to_named(const struct walk_plan *plan, const char *path);

struct walk;

struct walk *walk_begin(const struct walk_plan *plan, struct err *e);
void walk_end(struct walk *w); /* NULL is fine */
/* Returns 1 with an entry, valid until the next call; 0 at the end; -1 with e set. */
int walk_next(struct walk *w, struct walk_entry *entry, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * walk.h - what is in a folder, one entry after the other, in the order of pack_path.h
 *
 * In memory are the names of the folders that are open.  Symlinks are entries and never followed,
 * except where a path was named itself.  What is neither file, folder nor symlink is refused.
 */
#ifndef LUDWIG_CLIENT_PACK_WALK_H
#define LUDWIG_CLIENT_PACK_WALK_H

#include <sys/stat.h>

#include "client/pack/ignore.h"
#include "common/pack/pack.h"

/* What a walk comes upon; all must last as long. */
struct walk_plan {
    const char *top; /* absolute; a folder, or a file, which is the only entry then */
    bool everything; /* all that is in it; else only what is named */
    /* Below top, and taken with all that is in them but what rules leave out there; what the rules
     * leave out itself, with all. */
    const char *const *named;
    size_t n_named;
    struct ignore *rules; /* NULL: none, not even those that always hold */
    /* Left out unless it is named. */
    const char *const *left_out; /* absolute */
    size_t n_left_out;
    /* Whether something more is left out of everything; from: absolute, path: in the tree. */
    bool (*leaves_out)(void *context, const char *from, const char *path, bool is_folder);
    void *context;
};

struct walk_entry {
    const char *path; /* in the tree; "" when the tree is one file */
    const char *from; /* where it lies */
    const char *target;
    struct stat stat;
    enum pack_kind kind; /* never PACK_HARD_LINK */
};

/* Whether a path in the tree is named, or something below it. */
bool walk_leads_to_named(const struct walk_plan *plan, const char *path);

struct walk;

struct walk *walk_begin(const struct walk_plan *plan, struct err *e);
void walk_end(struct walk *w); /* NULL is fine */
/* 1 with an entry, valid until the next call; 0 when all came; -1. */
int walk_next(struct walk *w, struct walk_entry *entry, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * tree.h - source or data as they lie here: what is in it, and its digest
 *
 * The digest is SHA-256 over "ludwig tree 1\n" and, for each entry in the order of
 * paths, its type (d, f, x: a file that may be executed, l), path, NUL and, for what
 * is no folder, size and SHA-256 of its content (of a link: where it points).
 */
#ifndef LUDWIG_CLIENT_TREE_H
#define LUDWIG_CLIENT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "client/ignore.h"
#include "common/digest.h"
#include "common/mem.h"

struct tree_entry {
    const char *path; /* in the tree; "" when the tree is one file */
    const char *from; /* where it lies */
    const char *link; /* of a link: where it points */
    char type;
    uint64_t size;
    int64_t changed_at_ns; /* to notice that it was changed while it was read */
    struct digest digest;
};

struct tree {
    struct arena *arena;
    struct tree_entry *entries; /* sorted by path after tree_end */
    size_t n, capacity;
    size_t n_files;
    uint64_t bytes;
    struct digest digest;
};

/* What a walk leaves out; all may be NULL. */
struct tree_skips {
    struct ignore *ignore;
    const char *const *paths; /* absolute, n of them: files and folders */
    size_t n;
    /* Whether what is not left out yet is; from: absolute, path: in the tree. */
    bool (*leaves_out)(void *context, const char *from, const char *path, bool is_dir);
    void *context;
};

void tree_init(struct tree *t);
void tree_free(struct tree *t);

/* Adds the file or all of the folder from, an absolute path, as path.  "": the file is
 * the tree, or the content of the folder is. */
int tree_add(struct tree *t, const char *from, const char *path, const struct tree_skips *skips,
             struct err *e);
/* Sorts; with digests reads all files. */
int tree_end(struct tree *t, bool with_digests, struct err *e);

int64_t tree_changed_at_ns(const struct stat *st);

#endif

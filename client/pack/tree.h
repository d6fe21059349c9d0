/* SPDX-License-Identifier: MIT */
/*
 * tree.h - packs and sends a source or data tree
 *
 *     thread: files ──▶ pack_writer ──▶ send_queue ──▶ caller: store
 */
#ifndef LUDWIG_CLIENT_PACK_TREE_H
#define LUDWIG_CLIENT_PACK_TREE_H

#include "client/pack/pack_inventory.h"
#include "client/pack/walk.h"
#include "client/share/readers.h"
#include "client/term/progress.h"
#include "common/proto/jobspec.h"

struct tree {
    struct walk_plan plan;
    const char *on_share;  /* path of its top on the share, where files may stay; else NULL */
    bool stays;            /* all files stay in place there; else those as large as a part */
    const char *what;      /* "data", for errors */
    bool is_none_if_empty; /* a tree without entries is not packed */
    bool seeks_secrets;    /* tree_count fills secrets */
    /* Whether an entry, a folder with its content, is counted but not packed; NULL: none is. */
    bool (*skips)(const void *context, const struct walk_entry *entry);
    const void *context;
    /* Set by tree_count; totals counts hard links as files with bytes. */
    struct pack_totals totals;
    int64_t unknown_files, unknown_bytes; /* not known to lie on the share */
    bool is_unchanged;                    /* since the tree was packed last */
    struct readers readers;               /* of the tree's files and folders, its top included */
    struct readers files;                 /* of the tree's files alone */
    struct buf secrets; /* ".env (passwords), ..." but named ones, harmless for a terminal */
    size_t n_secrets;
    /* Set by tree_look or tree_send. */
    struct dataset set;
    int64_t new_files, new_bytes; /* with content that was not on the share */
};

/* Checks that the tree's top exists, and fills secrets if seeks_secrets. */
int tree_seek_secrets(struct tree *t, struct err *e);
/* Counts the entries, refuses those that cannot be sent, and tells the inventory which pieces are
 * wanted.  Reads no file. */
int tree_count(struct tree *t, struct pack_inventory *inventory, struct err *e);
/* Returns the number of files and links of a tree that was counted. */
int64_t tree_count_files(const struct tree *t);

/* Estimates the bytes of the file or folder that its last submit did not read, by a short look,
 * which ends at enough_bytes. */
uint64_t tree_glance(const char *path, uint64_t enough_bytes);

/* Where trees are sent. */
struct tree_target {
    struct pack_inventory *inventory; /* of the store */
    struct store *store;
    struct uploadbar *bar;
    uint64_t part_bytes; /* see struct pack_sink */
};

/*
 * Packs and sends trees, one after the other, but empty ones with is_none_if_empty.  Reads files
 * that are not known, and keeps their index, also when it fails.  Returns when all bytes were
 * handed to the store (store_settle waits for them) and each tree's set is filled.
 *
 * A thread packs and alone uses the inventory, the caller alone the store.  While the thread runs
 * the program must not fork without exec: all connections are begun before (see mux.h).
 */
int tree_send(struct tree *const *trees, size_t n, const struct tree_target *to, struct err *e);
/* Instead of tree_send, for one tree: finds out what would be sent, and sends nothing. */
int tree_look(struct tree *t, struct pack_inventory *inventory, struct err *e);

/* Adds t->what to an error of this tree, and makes it one line, whatever names files have.  Always
 * -1. */
int tree_blame(const struct tree *t, struct err *e);

#endif

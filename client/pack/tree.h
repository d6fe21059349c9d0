/* SPDX-License-Identifier: MIT */
/*
 * tree.h - source or data as they lie here, on their way into packs
 */
#ifndef LUDWIG_CLIENT_PACK_TREE_H
#define LUDWIG_CLIENT_PACK_TREE_H

#include "client/pack/pack_inventory.h"
#include "client/pack/walk.h"
#include "common/proto/jobspec.h"

struct tree {
    struct walk_plan plan;
    const char *on_share;  /* where its top lies there already, so that files may stay; or NULL */
    bool stays;            /* all of them do; else those as large as a part */
    const char *what;      /* "data", for errors */
    bool is_none_if_empty; /* without entries it is no tree */
    /* As tree_count found them; hard links are files with bytes here. */
    struct pack_totals totals;
    int64_t unknown_files, unknown_bytes; /* not known to lie on the share */
    bool is_unchanged;                    /* since it was packed last */
    /* As tree_pack found them. */
    struct dataset set;
    int64_t new_files, new_bytes; /* with content that was not on the share */
};

/* Counts what is in it, finds what cannot be sent, and tells the inventory which pieces are wanted.
 * Reads no file. */
int tree_count(struct tree *t, struct pack_inventory *inventory, struct err *e);
/* It was counted, has no entries, and is no tree then. */
bool tree_is_none(const struct tree *t);
/* Files and links of a tree that was counted. */
int64_t tree_count_files(const struct tree *t);

/* How many bytes of the file or folder were not read at its last submit, as far as a short look
 * tells; enough_bytes: more than that need not be found. */
uint64_t tree_glance(const char *path, uint64_t enough_bytes);

/* Where a tree goes when it is packed. */
struct tree_target {
    struct pack_inventory *inventory;
    struct send_queue *queue; /* NULL: nowhere, as only the figures are wanted */
    uint64_t part_bytes;      /* as struct pack_sink has it */
};

/* Reads what is not known.  After this, set says what is in the tree and, with a queue, where it lies
 * once that was sent.  Of what was read a note is kept, also when it fails. */
int tree_pack(struct tree *t, const struct tree_target *to, struct err *e);

/* Adds to an error of this tree that it is the source's or the data's, in one line, whatever names
 * files have; -1. */
int tree_blame(const struct tree *t, struct err *e);

#endif

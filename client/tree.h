/* SPDX-License-Identifier: MIT */
/*
 * tree.h - source or data as they lie here, on their way into packs
 */
#ifndef LUDWIG_CLIENT_TREE_H
#define LUDWIG_CLIENT_TREE_H

#include "client/stock.h"
#include "client/uploadbar.h"
#include "client/walk.h"
#include "common/work.h"

struct tree {
    struct walk_plan plan;
    const char *on_share; /* where its top lies there already, so that files may stay; or NULL */
    bool stays;           /* all of them do; else those as large as a part */
    /* As tree_count found them; hard links are files with bytes here. */
    struct pack_totals totals;
    int64_t unknown_files, unknown_bytes; /* not known to lie on the share */
    bool is_unchanged;                    /* since it was packed last */
    /* As tree_pack found them. */
    struct dataset set;
    int64_t new_files, new_bytes; /* with content that was not on the share */
};

/* Counts what is in it, finds what cannot be sent, and says in the stock what is wanted of it.  Reads
 * no file. */
int tree_count(struct tree *t, struct stock *stock, struct err *e);

/* How many bytes of the file or folder were not read at its last submit, as far as a short look
 * tells; enough_bytes: more than that need not be found. */
uint64_t tree_glance(const char *path, uint64_t enough_bytes);

/* Where it goes. */
struct tree_target {
    struct stock *stock;
    struct store *store; /* NULL: nowhere, as only the figures are wanted */
    struct uploadbar *bar;
    uint64_t part_bytes; /* as struct pack_sink has it */
};

/* After this, set says what is in it and, with a store, where it lies once that has settled.  Of what was read a note is
 * kept, also when it fails. */
int tree_pack(struct tree *t, const struct tree_target *to, struct err *e);

#endif

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
    struct pack_totals totals; /* hard links are files with bytes here */
    struct dataset set;
    int64_t new_files, new_bytes; /* with content that was not on the share */
};

/* Counts what is in it, and finds what cannot be sent.  Reads no file. */
int tree_count(struct tree *t, struct err *e);

/* Where it goes. */
struct tree_target {
    struct stock *stock;
    struct store *store; /* NULL: nowhere, as only the figures are wanted */
    struct uploadbar *bar;
};

/* After this, set says what is in it and, with a store, where it lies. */
int tree_pack(struct tree *t, const struct tree_target *to, struct err *e);

#endif

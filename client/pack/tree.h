/* SPDX-License-Identifier: MIT */
/*
 * tree.h - source or data as they lie here, on their way into packs
 */
#ifndef LUDWIG_CLIENT_PACK_TREE_H
#define LUDWIG_CLIENT_PACK_TREE_H

#include "client/pack/pack_inventory.h"
#include "client/pack/send_queue.h"
#include "client/pack/walk.h"
#include "client/term/uploadbar.h"
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
    bool is_new;                          /* no file of it was read before */
    /* As tree_pack found them. */
    struct dataset set;
    int64_t new_files, new_bytes; /* with content that was not on the share */
    bool is_packed;               /* for a packer */
};

/* Counts what is in it, finds what cannot be sent, and says in the stock what is wanted of it.  Reads
 * no file. */
int tree_count(struct tree *t, struct pack_inventory *stock, struct err *e);

/* The same entry by entry, of a tree that may be new: 1, 0 when all were counted, -1. */
struct tree_counting;
struct tree_counting *tree_count_begin(struct tree *t, struct pack_inventory *stock, struct err *e);
int tree_count_next(struct tree_counting *c, struct err *e);
void tree_count_end(struct tree_counting *c); /* NULL is fine */

/* How many bytes of the file or folder were not read at its last submit, as far as a short look
 * tells; enough_bytes: more than that need not be found. */
uint64_t tree_glance(const char *path, uint64_t enough_bytes);

/* Where it goes. */
struct tree_target {
    struct pack_inventory *stock;
    struct store *store; /* NULL: nowhere, as only the figures are wanted */
    /* Where it waits until tree_deliver; or NULL.  While there is no store, the pieces that the stock
     * did not know are noted there. */
    struct send_queue *backlog;
    struct uploadbar *bar;
    uint64_t part_bytes; /* as struct pack_sink has it */
};

/* After this, set says what is in it and, with a store, where it lies once that has settled.  Of what was read a note is
 * kept, also when it fails. */
int tree_pack(struct tree *t, const struct tree_target *to, struct err *e);

/* The same entry by entry; what *to says may change between them. */
struct tree_packing;
struct tree_packing *tree_pack_begin(struct tree *t, const struct tree_target *to, struct err *e);
/* TREE_LATER: the next one is a file of more than room_bytes, and was not added. */
enum { TREE_ALL, TREE_MORE, TREE_LATER };
int tree_pack_next(struct tree_packing *p, uint64_t room_bytes, struct err *e);
/* After TREE_ALL, with set; result -1: given up, and -1. */
int tree_pack_end(struct tree_packing *p, int result, struct err *e);

/* Sends what waits in the backlog. */
int tree_deliver(const struct tree_target *to, struct err *e);
/* The backlog came about before the stock was known: whether something of it is there already, or else
 * the stock learns what is coming. */
bool tree_is_there(const struct tree_target *to);
int tree_learn(const struct tree_target *to, struct err *e);

/* Says of an error of this tree whose it is, in one line, whatever names files have; -1. */
int tree_blame(const struct tree *t, struct err *e);

#endif

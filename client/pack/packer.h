/* SPDX-License-Identifier: MIT */
/*
 * packer.h - several trees are counted and packed, one after the other
 *
 * That can begin before it is known where they go: whoever waits for the server packs meanwhile what
 * was never read before, into a backlog of bounded size.  What turns out to be there already is
 * thrown away, and packed again with what is known then.
 *
 *     packer_begin_early(&p);         what packer_idle does from here on
 *     packer_meet(&p, stock, store)   true: what was packed goes there
 *     packer_pack_all(&p, e)
 */
#ifndef LUDWIG_CLIENT_PACK_PACKER_H
#define LUDWIG_CLIENT_PACK_PACKER_H

#include "client/pack/tree.h"
#include "common/base/idle.h"

struct packer {
    struct tree **trees; /* must last as long */
    size_t n;
    struct tree_target target;
    /* until it is met */
    bool is_early;
    size_t n_counted;
    struct tree_counting *counting;
    struct pack_inventory *nothing; /* known */

    size_t at; /* the tree that is packed */
    struct tree_packing *packing;
    struct send_queue *backlog; /* NULL: none, all goes to the store at once */
    bool is_on;                 /* something may be packed by whoever waits */
    bool is_busy;               /* somebody packs */
    struct err why;             /* the error of one who waited */
};

void packer_begin_early(struct packer *p);
/* What those who wait for the server can do. */
struct idle packer_idle(struct packer *p);
/* That is over. */
void packer_rest(struct packer *p);
/* The tree's figures hold, and need not be counted once more. */
bool packer_has_counted(const struct packer *p, const struct tree *t);
/* Where it goes; stock: of which all that is wanted is known.  false: what was packed was given up,
 * and all is to be counted anew. */
bool packer_meet(struct packer *p, struct pack_inventory *stock, struct store *store);

/* Packs them all, or what is left; target.bar and target.part_bytes are set. */
int packer_pack_all(struct packer *p, struct err *e);
void packer_close(struct packer *p);

#endif

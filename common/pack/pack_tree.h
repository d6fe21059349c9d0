/* SPDX-License-Identifier: MIT */
/*
 * pack_tree.h - the order of the entries of a tree, and the digest of its content, which does not
 * depend on where that is stored (docs/internals/packs.md)
 */
#ifndef LUDWIG_COMMON_PACK_PACK_TREE_H
#define LUDWIG_COMMON_PACK_PACK_TREE_H

#include "common/pack/pack.h"

struct pack_tree;

struct pack_tree *pack_tree_create(void);
void pack_tree_destroy(struct pack_tree *t); /* NULL is fine */

/* Returns 0 if the entry may come next (in order, once, in a folder that came before), else -1 with
 * e set. */
int pack_tree_check(struct pack_tree *t, const char *path, enum pack_kind kind, struct err *e);
/* Both add, in order, a piece or hole of the file that pack_tree_entry adds next.  Two holes never
 * follow each other. */
void pack_tree_piece(struct pack_tree *t, const struct digest *piece);
void pack_tree_hole(struct pack_tree *t, uint64_t n_pieces);
/* Adds an entry that passed pack_tree_check; its runs are ignored. */
void pack_tree_entry(struct pack_tree *t, const struct pack_entry *entry);
void pack_tree_end(struct pack_tree *t, struct digest *tree);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pack_read.h - the entries of a packed tree, each checked
 *
 * The pack's writer is not trusted.  Entries from pack_next keep the rules of pack.h: none leads
 * out of the tree, comes twice, or lies below a path that is no folder.  pack_next gives 0 at the
 * end only if the totals and the tree's digest are right, and refuses an entry beyond the totals.
 * A caller that makes the tree makes its symlinks last, and never opens a path through one.
 *
 * Memory holds one block and the lists of the parts met so far, 36 bytes a piece.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_READ_H
#define LUDWIG_COMMON_PACK_PACK_READ_H

#include "common/pack/pack_object.h"

/* fetch reads an object (pack_object_path) of at most max_bytes into out; pack_read.c checks the
 * digest. */
struct pack_source {
    void *context;
    int (*fetch)(void *context, enum pack_object kind, const struct digest *name, size_t max_bytes,
                 struct buf *out, struct err *e);
};

struct pack_reader;

/* NULL with e set; ERR_PROTOCOL: the pack is damaged. */
struct pack_reader *pack_open(const struct pack_source *source, const struct digest *id,
                              struct err *e);
void pack_close(struct pack_reader *r); /* NULL is fine */

const struct pack_totals *pack_totals(const struct pack_reader *r);
const struct digest *pack_tree(const struct pack_reader *r);
const struct pack_part *pack_parts(const struct pack_reader *r, size_t *n);

/* Gives 1 with the next entry in order, valid until the next call; 0 at the end; -1 with e set. */
int pack_next(struct pack_reader *r, struct pack_entry *entry, struct err *e);

/* The list of a part, fetched at the first call and kept until pack_close.  NULL with e set. */
const struct pack_list *pack_list_of(struct pack_reader *r, size_t part, struct err *e);
/* The same for a part of an entry that pack_next gave, whose list was fetched with it: never NULL,
 * and several threads may call it at once. */
const struct pack_list *pack_list_read(const struct pack_reader *r, size_t part);

#endif

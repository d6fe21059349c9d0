/* SPDX-License-Identifier: MIT */
/*
 * pack_inventory.h - knows which pieces and objects a project's packs on the share have
 *
 * The pieces of parts are kept in the cache, so that each part's list is fetched once.
 */
#ifndef LUDWIG_CLIENT_PACK_PACK_INVENTORY_H
#define LUDWIG_CLIENT_PACK_PACK_INVENTORY_H

#include "client/pack/send_queue.h"
#include "client/share/store.h"

struct pack_inventory;

/* Lists the packs of the store; NULL: makes an empty inventory. */
struct pack_inventory *pack_inventory_open(struct store *store, struct err *e);
void pack_inventory_close(struct pack_inventory *s); /* NULL is fine */

/* First step: notes that a piece is wanted; false: no part has it. */
bool pack_inventory_want(struct pack_inventory *s, const struct digest *piece);
/* Second step: finds the parts of which less than half is wanted, even if all content that is not
 * known yet were theirs; their pieces are better sent again. */
void pack_inventory_judge(struct pack_inventory *s, uint64_t unknown_bytes);
/* Third step: finds a piece's place in a part; where->part is valid until the next call.  all: also
 * in parts whose pieces are better sent again. */
bool pack_inventory_find(struct pack_inventory *s, const struct digest *piece, bool all,
                         struct pack_place *where);
/* Adds a new part, whose list is given as it is stored. */
int pack_inventory_learn(struct pack_inventory *s, const struct pack_part *part, struct bytes list,
                         struct err *e);
/* Keeps a list in the cache, so that it need not be fetched the next time. */
void pack_inventory_keep_list(const struct pack_inventory *s, const struct digest *name,
                              struct bytes list);

/*
 * Puts a new object into the queue, unless the packs have it.  Before a manifest it has all older
 * files touched that the manifest names, so that datasets_stored_remove_waste takes them for young:
 * the parts that pack_inventory_find named and the objects since the manifest before.
 */
int pack_inventory_send(struct pack_inventory *s, enum pack_object kind, const struct digest *name,
                        struct bytes bytes, struct send_queue *queue, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pack_inventory.h - what lies in a project's packs already, as it was when it was looked at
 *
 * What parts hold is kept in the cache, so that their lists are fetched once.
 */
#ifndef LUDWIG_CLIENT_PACK_PACK_INVENTORY_H
#define LUDWIG_CLIENT_PACK_PACK_INVENTORY_H

#include "client/pack/send_queue.h"
#include "client/share/store.h"

struct pack_inventory;

/* store: NULL: nothing is known of it. */
struct pack_inventory *pack_inventory_open(struct store *store, struct err *e);
void pack_inventory_close(struct pack_inventory *s); /* NULL is fine */

/* First it is said which pieces are wanted; false: that one is not there. */
bool pack_inventory_want(struct pack_inventory *s, const struct digest *piece);
/* Then old parts are judged, of which less than half is wanted, even if all the content that is not
 * known yet should be theirs: their pieces are better sent again. */
void pack_inventory_judge(struct pack_inventory *s, uint64_t unknown_bytes);
/* Then: where a piece lies in a part that is there; where->part is valid until the next call.
 * all: what was judged does not count. */
bool pack_inventory_find(struct pack_inventory *s, const struct digest *piece, bool all,
                         struct pack_place *where);
/* A part came; list: as it is stored. */
int pack_inventory_learn(struct pack_inventory *s, const struct pack_part *part, struct bytes list,
                         struct err *e);
/* So that it need not be fetched the next time. */
void pack_inventory_keep_list(const struct pack_inventory *s, const struct digest *name,
                              struct bytes list);

/*
 * An object that arises goes into the queue, unless it is there.  datasets_stored_remove_waste leaves files that
 * are young: so before a manifest goes, all that it names and that was there already is touched, which
 * are the parts that pack_inventory_find named and the objects since the manifest before.
 */
int pack_inventory_send(struct pack_inventory *s, enum pack_object kind, const struct digest *name,
                        struct bytes bytes, struct send_queue *queue, struct err *e);

#endif

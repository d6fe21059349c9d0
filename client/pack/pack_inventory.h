/* SPDX-License-Identifier: MIT */
/*
 * pack_inventory.h - what lies in a project's packs already, as it was when it was looked at
 *
 * What parts hold is kept in the cache, so that their lists are fetched once.
 */
#ifndef LUDWIG_CLIENT_PACK_PACK_INVENTORY_H
#define LUDWIG_CLIENT_PACK_PACK_INVENTORY_H

#include "client/share/store.h"

struct pack_inventory;

/* store: NULL: nothing is known of it. */
struct pack_inventory *pack_inventory_open(struct store *store, struct err *e);
void pack_inventory_close(struct pack_inventory *s); /* NULL is fine */

/* Whether that object is there. */
bool pack_inventory_has(const struct pack_inventory *s, enum pack_object kind,
                        const struct digest *name);
/* It is there from now on. */
void pack_inventory_add(struct pack_inventory *s, enum pack_object kind, const struct digest *name);

/* datasets_stored_remove_waste leaves files that are young.  So before a manifest is
 * written, all that it names and that was there already is touched: the parts that pack_inventory_find
 * named, and the objects told by pack_inventory_rely since the last call.  path: as store_touch takes
 * it. */
typedef int pack_inventory_touch(void *context, const char *path, struct err *e);
void pack_inventory_rely(struct pack_inventory *s, enum pack_object kind,
                         const struct digest *name);
int pack_inventory_hold(struct pack_inventory *s, pack_inventory_touch *touch, void *context,
                        struct err *e);
/* Instead, where a manifest that was there already names all of it. */
int pack_inventory_hold_manifest(struct pack_inventory *s, const struct digest *id,
                                 pack_inventory_touch *touch, void *context, struct err *e);

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

/* Removes what tries left that ended long ago. */
void pack_inventory_sweep(const struct pack_inventory *s);

#endif

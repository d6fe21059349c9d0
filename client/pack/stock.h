/* SPDX-License-Identifier: MIT */
/*
 * stock.h - what lies in a project's packs already, as it was when it was looked at
 *
 * What parts hold is kept in the cache, so that their lists are fetched once.
 */
#ifndef LUDWIG_CLIENT_PACK_STOCK_H
#define LUDWIG_CLIENT_PACK_STOCK_H

#include "client/share/store.h"

struct stock;

/* store: NULL: nothing is known of it. */
struct stock *stock_open(struct store *store, struct err *e);
void stock_close(struct stock *s); /* NULL is fine */

/* Whether that object is there. */
bool stock_has(const struct stock *s, enum pack_object kind, const struct digest *name);
/* It is there from now on. */
void stock_add(struct stock *s, enum pack_object kind, const struct digest *name);

/* Who tidies up leaves what is young.  So before a manifest is written, all that it names and that
 * was there already is touched: the parts that stock_find named, and the objects told by stock_rely
 * since the last call.  ERR_BUSY, as store_touch has it: something of it is gone. */
void stock_rely(struct stock *s, enum pack_object kind, const struct digest *name);
int stock_hold(struct stock *s, struct err *e);
/* Instead, where a manifest that was there already names all of it. */
int stock_hold_manifest(struct stock *s, const struct digest *id, struct err *e);

/* First it is said which pieces are wanted; false: that one is not there. */
bool stock_want(struct stock *s, const struct digest *piece);
/* Then old parts are judged, of which less than half is wanted, even if all the content that is not
 * known yet should be theirs: their pieces are better sent again. */
void stock_judge(struct stock *s, uint64_t unknown_bytes);
/* Then: where a piece lies in a part that is there; where->part is valid until the next call.
 * all: what was judged does not count. */
bool stock_find(struct stock *s, const struct digest *piece, bool all, struct pack_place *where);
/* A part came; list: as it is stored. */
int stock_learn(struct stock *s, const struct pack_part *part, struct bytes list, struct err *e);
/* So that it need not be fetched the next time. */
void stock_keep_list(const struct stock *s, const struct digest *name, struct bytes list);

/* Removes what tries left that ended long ago. */
void stock_sweep(const struct stock *s);

#endif

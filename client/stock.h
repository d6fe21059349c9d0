/* SPDX-License-Identifier: MIT */
/*
 * stock.h - what lies in a project's packs already, as it was when it was looked at
 */
#ifndef LUDWIG_CLIENT_STOCK_H
#define LUDWIG_CLIENT_STOCK_H

#include "client/store.h"

struct stock;

/* store: NULL: nothing is known of it. */
struct stock *stock_open(struct store *store, struct err *e);
void stock_close(struct stock *s); /* NULL is fine */

/* Whether that object is there; a list only together with its part. */
bool stock_has(const struct stock *s, enum pack_object kind, const struct digest *name);
/* It is there from now on. */
void stock_add(struct stock *s, enum pack_object kind, const struct digest *name);

/* Where a piece lies in a part that is there; where->part is valid until the next call. */
bool stock_find(struct stock *s, const struct digest *piece, struct pack_place *where);
/* A part came; list: as it is stored. */
int stock_learn(struct stock *s, const struct pack_part *part, struct bytes list, struct err *e);

/* Removes what tries left that ended long ago. */
void stock_sweep(const struct stock *s);

#endif

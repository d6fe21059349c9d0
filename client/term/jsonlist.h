/* SPDX-License-Identifier: MIT */
/*
 * jsonlist.h - writes {"v":1,"NAME":[...]} to stdout, however long
 */
#ifndef LUDWIG_CLIENT_TERM_JSONLIST_H
#define LUDWIG_CLIENT_TERM_JSONLIST_H

#include "common/data/schema.h"

struct jsonlist {
    struct buf out;
    size_t n;
};

void jsonlist_begin(struct jsonlist *l, const char *name);
void jsonlist_add(struct jsonlist *l, const struct schema *s, const void *item);
/* Writes the items added so far; a listing calls it once a page. */
int jsonlist_flush(struct jsonlist *l, struct err *e);
int jsonlist_end(struct jsonlist *l, struct err *e);
/* The same with a number beside the list. */
int jsonlist_end_with(struct jsonlist *l, const char *name, int64_t number, struct err *e);
/* The same with another list beside it. */
int jsonlist_end_with_list(struct jsonlist *l, const char *name, const struct schema *s,
                           const struct list *items, struct err *e);
/* Frees the list after an error; after jsonlist_end, or for a zero-initialised list, it does
 * nothing. */
void jsonlist_drop(struct jsonlist *l);
/* Writes a whole list of structs of that schema. */
int jsonlist_write(const char *name, const struct schema *s, const struct list *items,
                   struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * jsonlist.h - writes {"v":1,"NAME":[...]} to stdout, in parts if the list is long
 *
 * The functions that write return 0, or -1 with e set as output_write (output.h).
 */
#ifndef LUDWIG_CLIENT_TERM_JSONLIST_H
#define LUDWIG_CLIENT_TERM_JSONLIST_H

#include "common/data/schema.h"

struct jsonlist {
    struct buf out; /* text that was not written yet */
    size_t n;       /* items added so far to the current list */
};

void jsonlist_begin(struct jsonlist *l, const char *name);
/* Adds an item, a struct of schema s. */
void jsonlist_add(struct jsonlist *l, const struct schema *s, const void *item);
/* Writes the items added so far and keeps the list open; call it once for each page of a list. */
int jsonlist_flush(struct jsonlist *l, struct err *e);
/* Closes the list, writes the rest and frees it. */
int jsonlist_end(struct jsonlist *l, struct err *e);
/* As jsonlist_end, but adds the member "NAME":NUMBER after the list. */
int jsonlist_end_with(struct jsonlist *l, const char *name, int64_t number, struct err *e);
/* Closes the current list, and begins a second one called name with all these items (structs of
 * schema s). */
void jsonlist_add_list(struct jsonlist *l, const char *name, const struct schema *s,
                       const struct list *items);
/* Frees the list after an error; does nothing after jsonlist_end or to a zero-initialised list. */
void jsonlist_drop(struct jsonlist *l);
/* Writes the whole object, with these items (structs of schema s). */
int jsonlist_write(const char *name, const struct schema *s, const struct list *items,
                   struct err *e);

#endif

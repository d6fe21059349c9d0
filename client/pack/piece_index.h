/* SPDX-License-Identifier: MIT */
/*
 * piece_index.h - where the pieces lie that a project's packs hold, as this machine has learned
 *
 * A sorted table in the cache, so that memory does not grow with it: what was learned before is
 * merged with what is new and written anew.
 */
#ifndef LUDWIG_CLIENT_PACK_PIECE_INDEX_H
#define LUDWIG_CLIENT_PACK_PIECE_INDEX_H

#include "common/pack/pack_object.h"
#include "common/pack/pack_write.h"

struct piece_index;

struct piece_index_part {
    struct pack_part part;
    uint64_t bytes;        /* of its pieces */
    uint64_t wanted_bytes; /* of those that piece_index_want was asked for */
    bool is_there;         /* set by the caller; at first false */
    bool is_good;          /* the same: what piece_index_find may name */
    bool is_used;          /* piece_index_find named it */
};

/* path: see cache_dir_path.  What is not there, or cannot be read, is empty. */
struct piece_index *piece_index_open(const char *path);
void piece_index_close(struct piece_index *k); /* NULL is fine */

struct piece_index_part *piece_index_parts(struct piece_index *k, size_t *n);
bool piece_index_has_list(const struct piece_index *k, const struct digest *list);

/* The piece counts as wanted in all parts that hold it, once.  false: none that is there does. */
bool piece_index_want(struct piece_index *k, const struct digest *piece);
/* In the part that is good and of which most is wanted; or, if all shall count, that is there.
 * where->part is valid until piece_index_close. */
bool piece_index_find(struct piece_index *k, const struct digest *piece, bool all,
                      struct pack_place *where);

/* Adds lists to the table at path, without the parts that are not there any more. */
struct piece_index_update;
struct piece_index_update *piece_index_update_begin(const char *path, struct piece_index *old);
void piece_index_update_add(struct piece_index_update *u, const struct pack_list *list);
/* The new table, with as much as could be written; NULL: nothing could, and old is as it was.  Else
 * old is closed. */
struct piece_index *piece_index_update_end(struct piece_index_update *u);

#endif

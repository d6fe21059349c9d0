/* SPDX-License-Identifier: MIT */
/*
 * piece_index.h - the pieces in a project's packs that this machine knows of
 *
 * The index is a sorted table in the cache, so that memory does not grow with it: an update merges
 * the old table with new records into a new file.
 */
#ifndef LUDWIG_CLIENT_PACK_PIECE_INDEX_H
#define LUDWIG_CLIENT_PACK_PIECE_INDEX_H

#include "common/pack/pack_object.h"
#include "common/pack/pack_write.h"

struct piece_index;

struct piece_index_part {
    struct pack_part part;
    uint64_t bytes;        /* of all pieces of the part */
    uint64_t wanted_bytes; /* of its pieces that piece_index_want was called for */
    bool is_there;         /* set by the caller: the part lies on the share; at first false */
    bool is_good;          /* set by the caller: piece_index_find may name the part */
    bool is_used;          /* piece_index_find has named the part */
};

/* Opens the index at path (see cache_dir_path); it is empty if that is missing or unreadable. */
struct piece_index *piece_index_open(const char *path);
void piece_index_close(struct piece_index *k); /* NULL is fine */

struct piece_index_part *piece_index_parts(struct piece_index *k, size_t *n);
bool piece_index_has_list(const struct piece_index *k, const struct digest *list);

/* Counts the piece as wanted, once, in all parts that hold it; false: none of these is there. */
bool piece_index_want(struct piece_index *k, const struct digest *piece);
/* Finds the piece in the good part (all: in any part that is there) of which most is wanted.
 * where->part is valid until piece_index_close. */
bool piece_index_find(struct piece_index *k, const struct digest *piece, bool all,
                      struct pack_place *where);

/* Adds lists to the table at path, without the parts that are not there any more. */
struct piece_index_update;
struct piece_index_update *piece_index_update_begin(const char *path, struct piece_index *old);
void piece_index_update_add(struct piece_index_update *u, const struct pack_list *list);
/* Returns the new table, with all lists that could be written, and closes old; NULL: no table could
 * be written, and old is unchanged. */
struct piece_index *piece_index_update_end(struct piece_index_update *u);

#endif

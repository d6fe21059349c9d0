/* SPDX-License-Identifier: MIT */
/*
 * known.h - where the pieces lie that a project's packs hold, as this machine has learned
 *
 * A sorted table in the cache, so that memory does not grow with it: what was learned before is
 * merged with what is new and written anew.
 */
#ifndef LUDWIG_CLIENT_PACK_KNOWN_H
#define LUDWIG_CLIENT_PACK_KNOWN_H

#include "common/pack/pack_list.h"
#include "common/pack/pack_write.h"

struct known;

struct known_part {
    struct pack_part part;
    uint64_t bytes;        /* of its pieces */
    uint64_t wanted_bytes; /* of those that somebody asked for; see known_want */
    bool is_there;         /* set by the caller; at first false */
    bool is_good;          /* the same: what known_find may name */
    bool is_used;          /* known_find named it */
};

/* path: see cache_path.  What is not there, or cannot be read, is empty. */
struct known *known_open(const char *path);
void known_close(struct known *k); /* NULL is fine */

struct known_part *known_parts(struct known *k, size_t *n);
bool known_has_list(const struct known *k, const struct digest *list);

/* The piece counts as wanted in all parts that hold it, once.  false: none that is there does. */
bool known_want(struct known *k, const struct digest *piece);
/* In the part that is good and of which most is wanted; or, if all shall count, that is there.
 * where->part is valid until known_close. */
bool known_find(struct known *k, const struct digest *piece, bool all, struct pack_place *where);

/* Adds lists to the table at path, without the parts that are not there any more. */
struct known_update;
struct known_update *known_update_begin(const char *path, struct known *old);
void known_update_add(struct known_update *u, const struct pack_list *list);
/* The new table, with as much as could be written; NULL: nothing could, and old is as it was.  Else
 * old is closed. */
struct known *known_update_end(struct known_update *u);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cached_trees.h - which trees a worker has in its cache, as the worker told
 *
 * The list is in memory, with the worker's connection.  Trees beyond the bounds are not kept: the
 * worker may then be given fewer jobs than it could be, and nothing else happens.
 */
#ifndef LUDWIG_SERVER_CONN_CACHED_TREES_H
#define LUDWIG_SERVER_CONN_CACHED_TREES_H

#include "common/proto/proto.h"

enum { CACHED_TREES_MAX = 10000, CACHED_TREES_USERS_MAX = 1000 }; /* of one worker */

struct holding {
    struct digest tree;
    size_t user; /* index in users of the only user that it serves; 0: it serves all users */
    int64_t bytes;
};

/* All zeroes: empty. */
struct cached_trees {
    struct holding *items; /* sorted by tree, then user */
    size_t n, capacity;
    char **users; /* users[0] is not used */
    size_t n_users, users_capacity;
};

void cached_trees_free(struct cached_trees *h); /* also empties it */
/* Takes a worker's message about trees that it has got or removed. */
void cached_trees_take(struct cached_trees *h, const struct msg_holds *m);
/* Whether a job of this user can use the tree: it serves this user, or all users. */
bool cached_trees_has(const struct cached_trees *h, const char *user, const struct digest *tree);
/* Lists at most max trees (struct held_tree, in a), the largest first; users' names belong to h.
 * viewer: only trees that serve this user; NULL: all.  *bytes: size of all trees, listed or not. */
struct list cached_trees_list(const struct cached_trees *h, const char *viewer, size_t max,
                              struct arena *a, int64_t *bytes);

#endif

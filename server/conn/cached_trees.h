/* SPDX-License-Identifier: MIT */
/*
 * cached_trees.h - which trees a worker holds, as it says itself
 *
 * Kept in memory with its connection.  Bounded: what is said beyond that is forgotten, so that a
 * worker may be given less than it could be, and nothing else.
 */
#ifndef LUDWIG_SERVER_CONN_CACHED_TREES_H
#define LUDWIG_SERVER_CONN_CACHED_TREES_H

#include "common/proto/proto.h"

enum { CACHED_TREES_MAX = 10000, CACHED_TREES_USERS_MAX = 1000 };

struct holding {
    struct digest tree;
    size_t user; /* index; 0: it serves everybody */
    int64_t bytes;
};

/* Begins as all zeroes. */
struct cached_trees {
    struct holding *items; /* sorted */
    size_t n, capacity;
    char **users; /* users[0] is not used */
    size_t n_users, users_capacity;
};

void cached_trees_free(struct cached_trees *h);
/* What the worker has told. */
void cached_trees_take(struct cached_trees *h, const struct msg_holds *m);
/* Can a job of this user find the tree there? */
bool cached_trees_has(const struct cached_trees *h, const char *user, const struct digest *tree);
/* Has anybody's cache the tree? */
bool cached_trees_has_any(const struct cached_trees *h, const struct digest *tree);
/* The largest, at most max of them; users belong to h.  Sums up all. */
struct list cached_trees_list(const struct cached_trees *h, size_t max, struct arena *a,
                              int64_t *bytes);

#endif

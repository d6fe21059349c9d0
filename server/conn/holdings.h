/* SPDX-License-Identifier: MIT */
/*
 * holdings.h - which trees a worker holds, as it says itself
 *
 * Kept in memory with its connection.  Bounded: what is said beyond that is forgotten, so that a
 * worker may be given less than it could be, and nothing else.
 */
#ifndef LUDWIG_SERVER_CONN_HOLDINGS_H
#define LUDWIG_SERVER_CONN_HOLDINGS_H

#include "common/proto/proto.h"

enum { HOLDINGS_MAX = 10000, HOLDINGS_USERS_MAX = 1000 };

struct holding {
    struct digest tree;
    size_t user; /* index; 0: it serves everybody */
    int64_t bytes;
};

/* Begins as all zeroes. */
struct holdings {
    struct holding *items; /* sorted */
    size_t n, capacity;
    char **users; /* users[0] is not used */
    size_t n_users, users_capacity;
};

void holdings_free(struct holdings *h);
/* What the worker has told. */
void holdings_take(struct holdings *h, const struct msg_holds *m);
/* Can a job of this user find the tree there? */
bool holdings_has(const struct holdings *h, const char *user, const struct digest *tree);
/* Has anybody's cache the tree? */
bool holdings_has_any(const struct holdings *h, const struct digest *tree);
/* The largest, at most max of them; users belong to h.  Sums up all. */
struct list holdings_list(const struct holdings *h, size_t max, struct arena *a, int64_t *bytes);

#endif

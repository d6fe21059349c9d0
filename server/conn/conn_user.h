/* SPDX-License-Identifier: MIT */
/*
 * conn_user.h - what all connections of one user share: turns, memory, changes a second
 *
 * Users are served in turn, and so are the connections of each: a user with very many connections
 * gets no more of ludwigd than one with a single one.
 */
#ifndef LUDWIG_SERVER_CONN_CONN_USER_H
#define LUDWIG_SERVER_CONN_CONN_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A user who was quiet for so long may make as many changes at once as for such a time. */
enum { CHANGES_AHEAD_S = 60 };

struct conn_user {
    uid_t uid;
    size_t n_conns;
    int64_t served; /* number of the serving in which one of them was served last */
    size_t
        waiting_bytes; /* of all of them: what they said or asked for, and what they do not read */
    double changes;    /* that the user may make now */
    uint64_t changes_ms;  /* of the loop's clock: when it was so many */
    int64_t kept_answers; /* to such changes, since the last look for those that are too many */
};

/* All of them, and the order in which they are served. */
struct conn_users *conn_users_create(void);
void conn_users_destroy(struct conn_users *l); /* NULL is fine */

/* Each connection joins its user, and leaves; per_second: changes that a user may make, 0: any
 * number. */
struct conn_user *conn_users_join(struct conn_users *l, uid_t uid, int64_t per_second,
                                  uint64_t now_ms);
void conn_users_leave(struct conn_user *u);
/* The number of the next serving; a user who comes stands behind all that were served before. */
int64_t conn_users_next(struct conn_users *l);

/* In how many milliseconds the user may make another change. */
uint64_t conn_user_rests_ms(const struct conn_user *u, int64_t per_second, uint64_t now_ms);
void conn_user_changes(struct conn_user *u, int64_t per_second, uint64_t now_ms);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * conn_user.h - what all connections of one user share: turns, memory, changes a second
 *
 * Users are served in turn, and so are the connections of each user: a user with very many
 * connections gets no more of ludwigd than a user with one.
 */
#ifndef LUDWIG_SERVER_CONN_CONN_USER_H
#define LUDWIG_SERVER_CONN_CONN_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Changes that a user did not make are saved up: at most those of so many seconds. */
enum { CHANGES_AHEAD_S = 60 };

struct conn_user {
    uid_t uid;
    size_t n_conns;
    int64_t served; /* number of the serving in which one of the connections was served last */
    size_t
        waiting_bytes; /* of all connections: messages and requests not handled, answers not read */
    double changes;    /* how many changes the user might make at changes_ms */
    uint64_t changes_ms;  /* by the loop's clock */
    int64_t kept_answers; /* answers to changes that were kept since ludwigd has known the user */
};

/* All users, and the order in which they are served. */
struct conn_users *conn_users_create(void);
void conn_users_destroy(struct conn_users *l); /* NULL is fine */

/* A new connection joins its user, and leaves when it is closed.  per_second: how many changes a
 * user may make; 0: any number.  now_ms: by the loop's clock. */
struct conn_user *conn_users_join(struct conn_users *l, uid_t uid, int64_t per_second,
                                  uint64_t now_ms);
void conn_users_leave(struct conn_user *u);
/* The number of the next serving.  A new user is put behind all users that were served before. */
int64_t conn_users_next(struct conn_users *l);

/* In how many milliseconds the user may make another change; 0: at once. */
uint64_t conn_user_rests_ms(const struct conn_user *u, int64_t per_second, uint64_t now_ms);
/* Counts a change that the user makes now. */
void conn_user_changes(struct conn_user *u, int64_t per_second, uint64_t now_ms);

#endif

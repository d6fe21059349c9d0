/* SPDX-License-Identifier: MIT */
/*
 * user_names.h - names of uids, got without blocking the loop
 *
 * Names may come over a network (LDAP), which may hang.  They are looked up on threads, several at
 * once, and kept: for a minute without a new look-up, then for an hour more during a new one.
 */
#ifndef LUDWIG_SERVER_CONN_USER_NAMES_H
#define LUDWIG_SERVER_CONN_USER_NAMES_H

#include <sys/types.h>

#include "server/base/server.h"

enum {
    NAMES_MAX = 4096,       /* names kept; beyond it the oldest answers are forgotten */
    USER_NAMES_AT_ONCE = 16 /* threads; further look-ups wait until one of them returns */
};

struct user_names;

struct user_names_how {
    char *(*find)(uid_t uid); /* on a thread: "alice", or "#1234" for a uid without a name */
    uint64_t fresh_ms;        /* how long a name is used without a new look-up */
    uint64_t kept_ms;         /* how much longer it is used during a new look-up */
};
extern const struct user_names_how names_usual;

/* answered: called on the loop with find's answer, for each uid that was looked up. */
struct user_names *user_names_create(struct server *sv, const struct user_names_how *how,
                                     void (*answered)(struct server *sv, uid_t uid,
                                                      const char *name));
/* The name, valid until the caller returns to the loop; NULL: it is being looked up. */
const char *user_names_get(struct user_names *n, uid_t uid);
/* Does not wait for threads that still look names up.  NULL is fine. */
void user_names_destroy(struct user_names *n);

#endif

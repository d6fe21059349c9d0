/* SPDX-License-Identifier: MIT */
/*
 * user_names.h - what the machine calls uids, without waiting for it
 *
 * Names may come over a network (LDAP), which may hang.  They are asked for on threads, some at
 * once, and kept: a minute as they are; then for an hour more while they are asked for anew.
 */
#ifndef LUDWIG_SERVER_CONN_USER_NAMES_H
#define LUDWIG_SERVER_CONN_USER_NAMES_H

#include <sys/types.h>

#include "server/base/server.h"

enum {
    NAMES_MAX = 4096,       /* then those that were answered longest ago are forgotten */
    USER_NAMES_AT_ONCE = 16 /* threads: who asks for more waits until one of them is back */
};

struct user_names;

struct user_names_how {
    char *(*find)(uid_t uid); /* on a thread: "alice", or "#1234" for one without a name */
    uint64_t fresh_ms;        /* how long it is believed */
    uint64_t kept_ms;         /* how long it is then while it is asked for anew */
};
extern const struct user_names_how names_usual;

/* answered: with what find has said, for each uid that was asked for. */
struct user_names *user_names_create(struct server *sv, const struct user_names_how *how,
                                     void (*answered)(struct server *sv, uid_t uid,
                                                      const char *name));
/* NULL: it is being asked for.  Lasts until the loop goes on. */
const char *user_names_get(struct user_names *n, uid_t uid);
/* Waits for nobody, also while threads do.  NULL is fine. */
void user_names_destroy(struct user_names *n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * identity.h - who somebody is, and what they may do
 *
 * The uid the kernel reports is the identity; a name is what the machine calls
 * it.  Root, ludwigd's own account and the configured admins may change
 * everything: the first two could do so without asking.
 */
#ifndef LUDWIG_SERVER_IDENTITY_H
#define LUDWIG_SERVER_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "server/conn.h"
#include "server/server.h"

/* Those that look somebody up may wait for a name service: on threads, or before the loop runs.
 * On the loop there is names.h. */
/* "alice", or "#1234" for a uid without a name.  Caller frees. */
char *identity_user_name(uid_t uid);
bool identity_find_user(const char *name, uid_t *uid);
/* Its groups by the user database, the primary one first.  identity_primary_group fails for a uid
 * without a name, identity_groups gives none then. */
int identity_primary_group(uid_t uid, gid_t *gid, struct err *e);
void identity_groups(uid_t uid, struct groups *groups); /* caller frees groups->items */
int identity_group(const char *name, gid_t *gid, struct err *e);
/* The same of a socket's peer, as the kernel knows them: 0, -1 when it does not say. */
int identity_peer_groups(int fd, gid_t gid, struct groups *groups);
bool identity_is_admin(const struct conf *conf, uid_t uid, const char *user);
/* False for the uid that stands for everybody the kernel cannot name here (user namespaces),
 * unless ludwigd itself runs as it. */
bool identity_is_known(uid_t uid);

/* Whose things (a sweep of owner's) this connection may look into or change. */
struct owner {
    int64_t uid;
    const char *user; /* as the database has it */
};
int identity_may_see(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e);
int identity_may_change(const struct conn *c, const struct owner *owner, int64_t sweep,
                        struct err *e);
/* May this worker be given jobs of that uid? */
bool identity_may_run(const struct server *sv, const struct conn *c, uid_t uid);
/* Uids below min_uid are the system's: ludwigd's own may submit, no other. */
int identity_may_submit(const struct conf *conf, const struct conn *c, struct err *e);

#endif

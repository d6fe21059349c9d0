/* SPDX-License-Identifier: MIT */
/*
 * identity.h - users and groups, as the kernel and the user database tell them
 *
 * A user is identified by the uid that the kernel reports; a name is what this machine calls it.
 */
#ifndef LUDWIG_SERVER_BASE_IDENTITY_H
#define LUDWIG_SERVER_BASE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "server/base/conf.h"

struct groups {
    gid_t *items;
    size_t n;
};

/* Functions that look up a user or group may wait for a name service: call them on threads, or
 * before the loop runs.  On the loop use user_names.h. */
/* "alice", or "#1234" for a uid without a name.  Caller frees. */
char *identity_user_name(uid_t uid);
/* False: there is no such user. */
bool identity_find_user(const char *name, uid_t *uid);
/* The uid's groups in the user database, the primary one among them.  For a uid without a name
 * identity_primary_group fails with ERR_DENIED, and identity_groups gives none. */
int identity_primary_group(uid_t uid, gid_t *gid, struct err *e);
void identity_groups(uid_t uid, struct groups *groups);          /* caller frees groups->items */
int identity_group(const char *name, gid_t *gid, struct err *e); /* ERR_USAGE: no such group */
/* The groups of a socket's peer, which the kernel knows: gid first, then the supplementary ones.
 * Caller frees groups->items; -1: the kernel does not tell, and nothing is to be freed. */
int identity_peer_groups(int fd, gid_t gid, struct groups *groups);
/* Whether the user may change everything: root, ludwigd's own account (these two could do so
 * anyway) and the configured admins. */
bool identity_is_admin(const struct conf *conf, uid_t uid, const char *user);
/* Whether workers that run as this user are given all users' jobs (worker_users). */
bool identity_is_worker_user(const struct conf *conf, const char *user);
/* False for the uid that the kernel shows for all users it cannot map here (user namespaces),
 * unless ludwigd itself runs as it. */
bool identity_is_known(uid_t uid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * identity.h - users and groups, by the kernel and the user database
 *
 * The uid the kernel reports is the identity; a name is what the machine calls it.
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
bool identity_find_user(const char *name, uid_t *uid);
/* The uid's groups in the user database, the primary one first.  For a uid without a name
 * identity_primary_group fails and identity_groups gives none. */
int identity_primary_group(uid_t uid, gid_t *gid, struct err *e);
void identity_groups(uid_t uid, struct groups *groups); /* caller frees groups->items */
int identity_group(const char *name, gid_t *gid, struct err *e);
/* The groups of a socket's peer, as the kernel knows them: 0, -1 if the kernel does not tell. */
int identity_peer_groups(int fd, gid_t gid, struct groups *groups);
/* Root, ludwigd's own account and the configured admins may change everything: the first two could
 * do so anyway. */
bool identity_is_admin(const struct conf *conf, uid_t uid, const char *user);
/* Whether this user's workers are given all users' jobs. */
bool identity_is_worker_user(const struct conf *conf, const char *user);
/* False for the uid that the kernel shows for all users it cannot map here (user namespaces),
 * unless ludwigd itself runs as it. */
bool identity_is_known(uid_t uid);

#endif

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

/* Those that look somebody up may wait for a name service: on threads, or before the loop runs.
 * On the loop there is user_names.h. */
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
/* Root, ludwigd's own account and the configured admins may change everything: the first two could
 * do so without asking. */
bool identity_is_admin(const struct conf *conf, uid_t uid, const char *user);
/* Whose workers are given everybody's jobs. */
bool identity_is_worker_user(const struct conf *conf, const char *user);
/* False for the uid that stands for everybody the kernel cannot name here (user namespaces),
 * unless ludwigd itself runs as it. */
bool identity_is_known(uid_t uid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * projectdir.h - a project's folder on the share: made, checked, looked at from outside
 *
 * All of this may block as long as the share does, and runs on threads: of sv nothing is used but
 * the configuration.  Nothing in a project is ever opened, made or changed.
 */
#ifndef LUDWIG_SERVER_SHARE_PROJECTDIR_H
#define LUDWIG_SERVER_SHARE_PROJECTDIR_H

#include "common/proto/proto.h"
#include "server/base/server.h"
#include "server/conn/conn.h"

/* Makes the folder for that user, or orders the client to.  One that is there must belong to the
 * user and, for a private project, be closed to others; its mode is left alone. */
int projectdir_prepare(const struct server *sv, const char *name, uid_t uid, bool is_private,
                       struct folder_order *order, struct err *e);

/* Whether ludwigd makes it for that user; where root is nobody on the share, it leaves that to the
 * client all the same. */
bool projectdir_is_made_here(uid_t uid);

/* The folder is there, and the user's. */
int projectdir_check(const struct server *sv, const char *name, uid_t uid, struct err *e);

/* Whose it is, by its folder alone: 1, 0 when there is none (or owners mean nothing there), -1. */
int projectdir_owner(const struct server *sv, const char *name, uid_t *uid, struct err *e);

struct reader {
    uid_t uid;
    struct groups groups;
};

/* Could such a user list the folder? */
bool projectdir_may_read(const struct server *sv, const char *name, const struct reader *r);

/* The error of a user that comes too late. */
int projectdir_refuse(const char *name, const char *owner, struct err *e);

#endif

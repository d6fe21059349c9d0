/* SPDX-License-Identifier: MIT */
/*
 * project.h - a project's folder on the share: whose it is, who makes it, who may read it
 *
 * A project belongs to who first used it, by the database and by its folder's owner alike.
 * ludwigd makes the folder where it can, empty, and gives it away; it never opens, makes or
 * changes anything in it.
 */
#ifndef LUDWIG_SERVER_PROJECT_H
#define LUDWIG_SERVER_PROJECT_H

#include "server/conn.h"
#include "server/server.h"

/* A name that every system can show, and that hides nothing. */
int project_check_name(const char *name, struct err *e);

/* Makes the folder for c's user, or orders the client to.  One that is there must
 * belong to that user and, for a private project, be closed to others; its mode is left alone. */
int project_prepare(struct server *sv, const struct conn *c, const char *name, bool is_private,
                    struct folder_order *order, struct err *e);

/* The folder is there, and the user's. */
int project_check_folder(struct server *sv, const struct conn *c, const char *name, struct err *e);

/* Whose it is, by its folder alone: 1, 0 when there is none (or owners mean nothing there), -1. */
int project_folder_owner(struct server *sv, const char *name, uid_t *uid, struct err *e);

/* Its row, made if there is none; -1 when it is somebody else's. */
int64_t project_take(struct server *sv, const struct conn *c, const char *name, struct err *e);

/* May c look into a sweep of owner's in that project?  Owners and admins may, and who could read
 * the project's folder. */
int project_may_see(struct server *sv, struct conn *c, int64_t owner, const char *project,
                    int64_t sweep, struct err *e);

/* The error of whoever comes too late. */
int project_refuse(const char *name, const char *owner, struct err *e);

#endif

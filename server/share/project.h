/* SPDX-License-Identifier: MIT */
/*
 * project.h - the owner of a project, and the users that may look into it
 *
 * A project belongs to the user that used it first, by the database and by its folder's owner.
 */
#ifndef LUDWIG_SERVER_SHARE_PROJECT_H
#define LUDWIG_SERVER_SHARE_PROJECT_H

#include "server/base/server.h"
#include "server/conn/conn.h"

struct ask;

/* A name that every system can show, and that hides nothing. */
int project_check_name(const char *name, struct err *e);

/* What a name means to the asker, in the arena: a project of that name which is the asker's, or nobody's
 * yet; where it is another's, NAME.USER.  By the database alone; NULL with e set. */
const char *project_find(struct server *sv, const struct conn *c, const char *name, struct arena *a,
                         struct err *e);
/* NAME.USER. */
const char *project_other_name(const struct conn *c, const char *name, struct arena *a);

/* Its row, made if there is none; -1 when it is somebody else's. */
int64_t project_take(struct server *sv, const struct conn *c, const char *name, struct err *e);

/*
 * Of its folder on the share, for the asker of a request.  The share may be slow: these answer
 * HANDLER_WAITS first, which the handler answers too, to be called again; then 0 or -1.  One of
 * them for one request.
 */

/* Makes the folder for the asker, or orders the client to.  One that is there must belong to the
 * asker and, for a private project, be closed to others; its mode is left alone.  *meant: what the name
 * means (project_find), also where only the folder says whose it is; NULL: the name is taken as it is. */
int project_prepare(struct server *sv, struct ask *ask, const char *name, bool is_private,
                    const char **meant, struct folder_order *order, struct err *e);
/* The folder is there, and the asker's. */
int project_check_folder(struct server *sv, struct ask *ask, const char *name, struct err *e);
/* By its folder alone, where owners mean something.  *owner: its name, in the asker's arena; NULL:
 * there is no folder. */
int project_folder_owner(struct server *sv, struct ask *ask, const char *name, uid_t *uid,
                         const char **owner, struct err *e);

/* Whether ludwigd makes the folder for that user; where root is nobody on the share, it leaves that
 * to the client all the same. */
bool project_is_made_here(uid_t uid);

/* May the asker look into that sweep of uid's?  Owners and admins may at once, and users that
 * could read the project's folder. */
int project_may_see(struct server *sv, struct ask *ask, int64_t uid, const struct sweep_info *sweep,
                    struct err *e);

#endif

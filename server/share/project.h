/* SPDX-License-Identifier: MIT */
/*
 * project.h - the owner of a project, and the users that may look into it
 *
 * A project belongs to the user that used it first, by the database and by its folder's owner.  Another
 * user's project of the same name is NAME.USER: that is its name from then on, and its folder's; the user
 * may go on to call it NAME, until one of that name is theirs.
 */
#ifndef LUDWIG_SERVER_SHARE_PROJECT_H
#define LUDWIG_SERVER_SHARE_PROJECT_H

#include "server/base/server.h"
#include "server/conn/conn.h"

struct ask;

/* Checks that every system can show the name and that it is not hidden. */
int project_check_name(const char *name, struct err *e);

/* What a user may mean by a name. */
struct project_names {
    const char *name;
    const char *beside; /* instead, if the folder of that name is another user's; NULL: nothing */
};

/* Decides by the database; a new project may not be called as another user's would be.  In a. */
int project_choose(struct server *sv, const struct conn *c, const char *name, struct arena *a,
                   struct project_names *names, struct err *e);

/* The project's row, made if there is none; -1 if it belongs to another user. */
int64_t project_take(struct server *sv, const struct conn *c, const char *name, struct err *e);

/*
 * Functions about a project's folder on the share, for the asker of a request.  The share may be
 * slow: they answer HANDLER_WAITS first, which the handler answers too, to be called again; then 0
 * or -1.  A request may use only one of them.
 */

/* Makes the folder for the asker, or orders the client to.  A folder that is there must belong to
 * the asker and, for a private project, be closed to others; its mode is left alone.  chosen: NULL, or
 * the project is named by its user, and that is its name. */
int project_prepare(struct server *sv, struct ask *ask, const char *name, bool is_private,
                    struct folder_order *order, const char **chosen, struct err *e);
/* Checks that the folder is there and belongs to the asker. */
int project_check_folder(struct server *sv, struct ask *ask, const char *name, struct err *e);
/* Finds the owner of the folder, where the file system keeps owners.  *owner: the user's name, in
 * the asker's arena; NULL: there is no folder.  names: as project_choose has them; *chosen: that one. */
int project_folder_owner(struct server *sv, struct ask *ask, const struct project_names *names,
                         const char **chosen, uid_t *uid, const char **owner, struct err *e);

/* Whether ludwigd makes the folder for that user; where the share maps root to nobody, ludwigd
 * leaves it to the client all the same. */
bool project_is_made_here(uid_t uid);

/* May the asker look into that sweep of uid's?  Owners and admins may at once, and users that
 * could read the project's folder. */
int project_may_see(struct server *sv, struct ask *ask, int64_t uid, const struct sweep_info *sweep,
                    struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * project.h - the owner of a project, and the users that may look into it
 *
 * A project belongs to the user who used it first: the database and the folder's owner say who that
 * is.  When another user chooses the same name, their project and its folder are called NAME.USER;
 * that user may go on to say NAME, as long as no project NAME is theirs.
 */
#ifndef LUDWIG_SERVER_SHARE_PROJECT_H
#define LUDWIG_SERVER_SHARE_PROJECT_H

#include "server/base/server.h"
#include "server/conn/conn.h"

struct ask;

/* Checks that every system can show the name and that it is not hidden. */
int project_check_name(const char *name, struct err *e);
/* Logs a warning for each folder of the share whose name no user's project may have (kept_names).
 * */
void project_look_for_kept(const struct server *sv);

/* The project that a user may mean by a name. */
struct project_names {
    const char *name;
    const char *beside; /* the name if the folder of name is another user's; NULL: none */
};

/* Decides, by the database, what the connection's user means by name; texts live in a.  A new
 * project must not have a name NAME.USER of another user who has projects here: ERR_DENIED. */
int project_choose(struct server *sv, const struct conn *c, const char *name, struct arena *a,
                   struct project_names *names, struct err *e);

/* The project's row, made if there is none; -1 with e set, also if it belongs to another user. */
int64_t project_take(struct server *sv, const struct conn *c, const char *name, struct err *e);

/* Functions about a project's folder on the share, for the asker of a request.  As the share may be
 * slow, they first return HANDLER_WAITS, which the handler returns, too; called again, they return
 * 0 or -1.  A request may use only one of them. */

/* Makes the folder for the asker, or says in *order what the client has to make.  A folder that is
 * there must belong to the asker and, for a private project, be closed to others; its mode stays.
 * chosen: NULL, or name is what the user said, and *chosen becomes the project's name. */
int project_prepare(struct server *sv, struct ask *ask, const char *name, bool is_private,
                    struct folder_order *order, const char **chosen, struct err *e);
/* Checks that the folder is there and belongs to the asker. */
int project_check_folder(struct server *sv, struct ask *ask, const char *name, struct err *e);
/* Finds the owner of the folder, where the file system keeps owners.  *owner: the user's name, in
 * the asker's arena; NULL: there is no folder.  *chosen: which of names (from project_choose) it
 * is. */
int project_folder_owner(struct server *sv, struct ask *ask, const struct project_names *names,
                         const char **chosen, uid_t *uid, const char **owner, struct err *e);

/* Whether ludwigd makes folders of projects for that user.  Where the share maps root to nobody it
 * cannot, and the client has to. */
bool project_is_made_here(uid_t uid);

/* Whether the asker may look into that sweep of uid's: 0, else -1 with e set.  Owners and admins
 * may, and users who could read the project's folder. */
int project_may_see(struct server *sv, struct ask *ask, int64_t uid, const struct sweep_info *sweep,
                    struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* project.c - the owner of a project, and the users that may look into it */
#include "server/share/project.h"

#include <stdlib.h>

#include "common/base/path.h"
#include "server/base/identity.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/conn/request_task.h"
#include "server/share/projectdir.h"

int project_check_name(const char *name, struct err *e)
{
    if (path_is_portable_name(name) && name[0] != '.')
        return 0;
    return err_set(e, ERR_USAGE,
                   "project '%s': no name that every system can show (letters, digits, - and _"
                   " are safe)",
                   name);
}

/* ---- its row ---- */

/* Its id, 0 when there is none, -1 when it is somebody else's. */
static int64_t find_own(struct server *sv, const struct conn *c, const char *name, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PROJECT_GET, "s", name);
    int rc = stmt_step(s, e);
    int64_t id = rc == 1 ? stmt_int(s, 0) : rc;

    if (rc == 1 && stmt_int(s, 1) != (int64_t)c->uid)
        id = projectdir_refuse(name, stmt_text(s, 2), e);
    stmt_end(s);
    return id;
}

int64_t project_take(struct server *sv, const struct conn *c, const char *name, struct err *e)
{
    int64_t id = find_own(sv, c, name, e);

    if (id != 0)
        return id;
    if (db_run(sv->db, e, SQL_PROJECT_ADD, "sis", name, (int64_t)c->uid, c->user) < 0)
        return -1;
    return db_last_id(sv->db);
}

/* ---- its folder: looked at on a thread, while the asker waits ---- */

struct look {
    const struct server *sv;
    char *name;
    bool is_private;
    bool has_groups;
    struct reader asker;
    /* What came of it. */
    struct folder_order order;
    uid_t owner;
    char *owner_name; /* NULL: there is no folder */
    bool may_read;
};

static void look_free(void *context)
{
    struct look *l = context;

    free(l->asker.groups.items);
    free(l->owner_name);
    free(l->name);
    free(l);
}

static struct look *look_at(const struct server *sv, const struct conn *c, const char *name)
{
    struct look *l = mem_alloc(sizeof *l);

    l->sv = sv;
    l->name = mem_strdup(name);
    l->asker.uid = c->uid;
    return l;
}

static int prepare(void *context, struct err *e)
{
    struct look *l = context;

    return projectdir_prepare(l->sv, l->name, l->asker.uid, l->is_private, &l->order, e);
}

int project_prepare(struct server *sv, struct ask *ask, const char *name, bool is_private,
                    struct folder_order *order, struct err *e)
{
    struct look *l = request_task_context(ask);

    if (l == NULL) {
        if (find_own(sv, ask->conn, name, e) < 0)
            return -1;
        l = look_at(sv, ask->conn, name);
        l->is_private = is_private;
        return request_task_begin(sv, ask, prepare, look_free, l);
    }
    *order = l->order;
    return request_task_end(ask, e);
}

static int check(void *context, struct err *e)
{
    const struct look *l = context;

    return projectdir_check(l->sv, l->name, l->asker.uid, e);
}

int project_check_folder(struct server *sv, struct ask *ask, const char *name, struct err *e)
{
    if (request_task_context(ask) == NULL)
        return request_task_begin(sv, ask, check, look_free, look_at(sv, ask->conn, name));
    return request_task_end(ask, e);
}

static int find_owner(void *context, struct err *e)
{
    struct look *l = context;
    int rc = projectdir_owner(l->sv, l->name, &l->owner, e);

    if (rc == 1)
        l->owner_name = identity_user_name(l->owner);
    return rc < 0 ? -1 : 0;
}

int project_folder_owner(struct server *sv, struct ask *ask, const char *name, uid_t *uid,
                         const char **owner, struct err *e)
{
    struct look *l = request_task_context(ask);

    if (l == NULL)
        return request_task_begin(sv, ask, find_owner, look_free, look_at(sv, ask->conn, name));
    *uid = l->owner;
    *owner = l->owner_name == NULL ? NULL : arena_strdup(ask->arena, l->owner_name);
    return request_task_end(ask, e);
}

static int find_access(void *context, struct err *e)
{
    struct look *l = context;

    (void)e;
    if (!l->has_groups)
        identity_groups(l->asker.uid, &l->asker.groups);
    l->may_read = projectdir_may_read(l->sv, l->name, &l->asker);
    return 0;
}

int project_may_see(struct server *sv, struct ask *ask, int64_t uid, const struct sweep_info *sweep,
                    struct err *e)
{
    const struct owner owner = { uid, sweep->user };
    const struct conn *c = ask->conn;
    struct look *l = request_task_context(ask);

    if (may_see(c, &owner, sweep->sweep, NULL) == 0)
        return 0;
    if (l != NULL)
        return l->may_read ? 0 : may_see(c, &owner, sweep->sweep, e);
    l = look_at(sv, c, sweep->project);
    l->has_groups = c->has_groups;
    if (c->groups.n > 0)
        l->asker.groups =
            (struct groups){ mem_copy(c->groups.items, c->groups.n * sizeof(gid_t)), c->groups.n };
    return request_task_begin(sv, ask, find_access, look_free, l);
}

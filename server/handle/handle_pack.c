/* SPDX-License-Identifier: MIT */
/* handle_pack.c - packing what lies on the share already: who asks, and who does it */

#include <string.h>

#include "common/base/path.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/queue/share_packs.h"
#include "server/share/project.h"

/* ---- asking ---- */

static int check(struct server *sv, const struct conn *c, const struct msg_pack_share *req,
                 struct err *e)
{
    if (!path_is_inside(req->path))
        return err_set(e, ERR_USAGE, "share: '%.80s' is no path below the share", req->path);
    if (project_check_name(req->project, e) < 0)
        return -1;
    return may_submit(&sv->conf, c, e);
}

/* Packs go into the project's folder, whatever rights who packs has: it must be the asker's. */
static int take_project(struct server *sv, struct ask *ask, const struct msg_pack_share *req,
                        struct err *e)
{
    struct folder_order unused;
    int rc = project_prepare(sv, ask, req->project, false, &unused, e);

    if (rc != 0)
        return rc;
    return project_take(sv, ask->conn, req->project, e) < 0 ? -1 : 0;
}

static struct pass *find(struct server *sv, struct ask *ask, const struct msg_pack_share *req,
                         struct err *e)
{
    int64_t number = ask->progress[0] != 0 ? ask->progress[0] : req->pass;
    struct pass *p = number == 0 ? NULL : share_packs_find(sv->passes, number);

    /* After a restart it may be another's. */
    if (p != NULL && (p->uid != ask->conn->uid || strcmp(p->project, req->project) != 0 ||
                      strcmp(p->path, req->path) != 0))
        p = NULL;
    return p != NULL ? p : share_packs_join(sv, ask->conn, req->project, req->path, e);
}

static void fill(const struct pass *p, struct arena *a, struct msg_share_packed *rep)
{
    *rep = (struct msg_share_packed){ .pass = p->number,
                                      .seen = p->version,
                                      .state = (int)p->state,
                                      .files = p->files,
                                      .bytes = p->bytes,
                                      .set = p->set };
    if (p->state != PASS_WAITING && p->node != NULL)
        rep->node = arena_strdup(a, p->node);
    if (p->is_stuck)
        rep->reason = arena_printf(
            a, "no worker that has the share mounted and runs jobs of %s is connected", p->user);
}

int handle_pack_share(struct server *sv, struct ask *ask, const void *request, void *reply,
                      struct err *e)
{
    const struct msg_pack_share *req = request;
    struct pass *p;
    int rc;

    if (check(sv, ask->conn, req, e) < 0)
        return -1;
    rc = take_project(sv, ask, req, e);
    if (rc != 0)
        return rc;
    p = find(sv, ask, req, e);
    if (p == NULL)
        return -1;
    if (p->has_failed)
        return err_set(e, ERR_FAILED, "share: %s, on %s: %s", p->path, p->node, p->why);
    if (req->pass == p->number && req->seen == p->version) {
        ask->progress[0] = p->number;
        ask->conn->awaited_pass = p->number;
        ask->conn->is_waiting = true;
        return HANDLER_WAITS;
    }
    fill(p, ask->arena, reply);
    return 0;
}

/* ---- doing ---- */

int handle_packed(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    (void)reply;
    if (ask->conn->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    share_packs_take(sv, ask->conn, request);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* handle_data.c - lists datasets, and has data packed that lie on the share */

#include <string.h>

#include "common/base/path.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/queue/rows.h"
#include "server/queue/share_packs.h"
#include "server/share/project.h"

struct holder {
    const struct conn *conn;
    const char *node;
};

/* Reads a row; returns about how many bytes of the page it takes. */
static size_t read_row(struct stmt *s, const struct holder *holders, size_t n_holders,
                       struct arena *a, struct dataset_info *info)
{
    const char **nodes = arena_alloc(a, n_holders * sizeof *nodes), *name = stmt_text(s, 3);
    size_t n = 0, bytes = 256;

    *info = (struct dataset_info){ .project = stmt_copy(s, 1, a),
                                   .owner = stmt_copy(s, 2, a),
                                   .name = *name == '\0' ? NULL : arena_strdup(a, name),
                                   .set = { .files = stmt_int(s, 6), .bytes = stmt_int(s, 7) },
                                   .added_at = stmt_int(s, 8),
                                   .used_at = stmt_int(s, 9),
                                   .sweep = stmt_int(s, 10),
                                   .unfinished = stmt_int(s, 11) };
    stmt_digest(s, 4, &info->set.tree);
    stmt_digest(s, 5, &info->set.id);
    bytes += strlen(info->project) + strlen(info->owner);
    for (size_t i = 0; i < n_holders && n < HOLDS_MAX; i++) {
        const char *node = holders[i].node;
        bool is_listed = false; /* a node with several workers, one for each user, is named once */

        for (size_t k = 0; k < n; k++)
            is_listed |= strcmp(nodes[k], node) == 0;
        if (is_listed ||
            !cached_trees_has(&holders[i].conn->holdings, info->owner, &info->set.tree))
            continue;
        nodes[n++] = node;
        bytes += strlen(node) + 3;
    }
    info->nodes = (struct list){ nodes, n };
    return bytes;
}

/* uid: the owner whose projects are listed; SCHEMA_NONE: all owners. */
static int fill_page(struct server *sv, struct arena *a, const struct msg_get_data *req,
                     int64_t uid, struct msg_data_page *rep, struct err *e)
{
    size_t limit = req->limit <= 0 || req->limit > PAGE_MAX ? PAGE_MAX : (size_t)req->limit;
    struct dataset_info *items = arena_alloc(a, limit * sizeof *items);
    struct holder *holders = arena_alloc(a, conn_count(sv) * sizeof *holders);
    size_t n = 0, size_bytes = 0, n_holders = 0;
    struct stmt *s = db_ask(sv->db, SQL_WORKERS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        const struct conn *c = conn_of_worker(sv, stmt_int(s, 0));

        if (c != NULL && c->holdings.n > 0)
            holders[n_holders++] = (struct holder){ c, stmt_copy(s, 1, a) };
    }
    if (rc < 0)
        return -1;
    s = db_ask(sv->db, SQL_DATASET_PAGE, "isIi", req->after, req->project, uid, (int64_t)limit + 1);
    while ((rc = stmt_step(s, e)) == 1 && n < limit && size_bytes < ROWS_PAGE_BYTES) {
        size_bytes += read_row(s, holders, n_holders, a, &items[n++]);
        rep->next = stmt_int(s, 0);
    }
    stmt_end(s);
    if (rc == 0)
        rep->next = 0;
    rep->data = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

int handle_get_data(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_get_data *req = request;
    int64_t uid = ask->conn->is_admin ? SCHEMA_NONE : (int64_t)ask->conn->uid;
    struct sweep_info any = { .project = req->project };
    int64_t id, owner;
    int rc;

    if (req->project == NULL)
        return fill_page(sv, ask->arena, req, uid, reply, e);
    rc = db_get(sv->db, e, SQL_PROJECT_GET, "s>iis", req->project, &id, &owner, ask->arena,
                &any.user);
    if (rc <= 0)
        return rc < 0 ? -1 : err_set(e, ERR_NOT_FOUND, "there is no project '%s'", req->project);
    rc = project_may_see(sv, ask, owner, &any, e);
    if (rc < 0)
        return err_set(e, ERR_DENIED, "project '%s' is %s's, and you may not read it", req->project,
                       any.user);
    return rc > 0 ? rc : fill_page(sv, ask->arena, req, SCHEMA_NONE, reply, e);
}

/* ---- askers ---- */

static struct packing *find_packing(struct server *sv, struct ask *ask,
                                    const struct msg_pack_share *req, struct err *e)
{
    int64_t number = ask->progress[0] != 0 ? ask->progress[0] : req->pass;
    struct packing *p = number == 0 ? NULL : share_packs_find(sv->packings, number);

    /* After a restart of ludwigd the number may be another packing's. */
    if (p != NULL && (p->uid != ask->conn->uid || strcmp(p->project, req->project) != 0 ||
                      strcmp(p->path, req->path) != 0))
        p = NULL;
    return p != NULL ? p : share_packs_join(sv, ask->conn, req->project, req->path, e);
}

/* The project's folder must be the asker's: a worker with any rights writes the packs into it. */
int handle_pack_share(struct server *sv, struct ask *ask, const void *request, void *reply,
                      struct err *e)
{
    const struct msg_pack_share *req = request;
    struct msg_share_packed *rep = reply;
    struct folder_order unused;
    struct packing *p;
    int rc;

    if (!path_is_inside(req->path))
        return err_set(e, ERR_USAGE, "share: '%.80s' is no path below the share", req->path);
    if (project_check_name(req->project, e) < 0 || may_submit(&sv->conf, ask->conn, e) < 0)
        return -1;
    rc = project_prepare(sv, ask, req->project, false, &unused, NULL, e);
    if (rc != 0)
        return rc;
    if (project_take(sv, ask->conn, req->project, e) < 0)
        return -1;
    p = find_packing(sv, ask, req, e);
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
    *rep = (struct msg_share_packed){ .pass = p->number,
                                      .seen = p->version,
                                      .state = (int)p->state,
                                      .files = p->files,
                                      .bytes = p->bytes,
                                      .set = p->set };
    if (p->state != PACKING_WAITING && p->node != NULL)
        rep->node = arena_strdup(ask->arena, p->node);
    if (p->is_stuck)
        rep->reason = arena_printf(
            ask->arena, "no worker that has the share mounted and runs jobs of %s is connected",
            p->user);
    return 0;
}

/* ---- workers ---- */

int handle_packed(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    (void)reply;
    if (ask->conn->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    share_packs_take(sv, ask->conn, request);
    return 0;
}

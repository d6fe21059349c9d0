/* SPDX-License-Identifier: MIT */
/* handle_data.c - datasets: listed, and packed where they lie on the share */

#include <string.h>

#include "common/base/path.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/queue/rows.h"
#include "server/queue/share_packs.h"
#include "server/share/project.h"

/* Nodes with several workers, one for each user, are named once. */
static bool is_listed(const char *const *nodes, size_t n, const char *node)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(nodes[i], node) == 0)
            return true;
    return false;
}

struct holder {
    const struct conn *conn;
    const char *node;
};

struct holders {
    struct holder *items;
    size_t n;
};

static int find_holders(struct server *sv, struct arena *a, struct holders *h, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_WORKERS, "");
    int rc;

    h->items = arena_alloc(a, conn_count(sv) * sizeof *h->items);
    h->n = 0;
    while ((rc = stmt_step(s, e)) == 1) {
        const struct conn *c = conn_of_worker(sv, stmt_int(s, 0));

        if (c != NULL && c->holdings.n > 0)
            h->items[h->n++] = (struct holder){ c, arena_strdup(a, stmt_text(s, 1)) };
    }
    return rc;
}

static struct list nodes_with(const struct holders *h, const struct digest *tree, struct arena *a)
{
    const char **nodes = arena_alloc(a, h->n * sizeof *nodes);
    size_t n = 0;

    for (size_t i = 0; i < h->n && n < HOLDS_MAX; i++)
        if (cached_trees_has_any(&h->items[i].conn->holdings, tree) &&
            !is_listed(nodes, n, h->items[i].node))
            nodes[n++] = h->items[i].node;
    return (struct list){ nodes, n };
}

static void read_row(struct stmt *s, const struct holders *h, struct arena *a,
                     struct dataset_info *info)
{
    const char *name = stmt_text(s, 3);

    *info = (struct dataset_info){ .project = arena_strdup(a, stmt_text(s, 1)),
                                   .owner = arena_strdup(a, stmt_text(s, 2)),
                                   .name = *name == '\0' ? NULL : arena_strdup(a, name),
                                   .set = { .files = stmt_int(s, 6), .bytes = stmt_int(s, 7) },
                                   .added_at = stmt_int(s, 8),
                                   .used_at = stmt_int(s, 9),
                                   .sweep = stmt_int(s, 10),
                                   .unfinished = stmt_int(s, 11) };
    stmt_digest(s, 4, &info->set.tree);
    stmt_digest(s, 5, &info->set.id);
    info->nodes = nodes_with(h, &info->set.tree, a);
}

static size_t size_of(const struct dataset_info *info)
{
    const char *const *nodes = info->nodes.items;
    size_t bytes = 256 + strlen(info->project) + strlen(info->owner);

    for (size_t i = 0; i < info->nodes.n; i++)
        bytes += strlen(nodes[i]) + 3;
    return bytes;
}

/* uid: of whose projects; SCHEMA_NONE: of all */
static int fill_page(struct server *sv, struct arena *a, const struct msg_get_data *req,
                     int64_t uid, struct msg_data_page *rep, struct err *e)
{
    size_t limit = req->limit <= 0 || req->limit > PAGE_MAX ? PAGE_MAX : (size_t)req->limit;
    struct dataset_info *items = arena_alloc(a, limit * sizeof *items);
    struct holders holders;
    size_t n = 0, size_bytes = 0;
    struct stmt *s;
    int rc;

    if (find_holders(sv, a, &holders, e) < 0)
        return -1;
    s = db_ask(sv->db, SQL_DATASET_PAGE, "isIi", req->after, req->project, uid, (int64_t)limit + 1);
    while ((rc = stmt_step(s, e)) == 1 && n < limit && size_bytes < ROWS_PAGE_BYTES) {
        read_row(s, &holders, a, &items[n]);
        size_bytes += size_of(&items[n++]);
        rep->next = stmt_int(s, 0);
    }
    stmt_end(s);
    if (rc == 0)
        rep->next = 0;
    rep->data = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

/* Whose project it is; ERR_NOT_FOUND. */
static int owner_of(struct server *sv, struct arena *a, const char *project, int64_t *owner,
                    const char **user, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PROJECT_GET, "s", project);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *owner = stmt_int(s, 1);
        *user = arena_strdup(a, stmt_text(s, 2));
    }
    stmt_end(s);
    return rc == 0 ? err_set(e, ERR_NOT_FOUND, "there is no project '%s'", project) : rc;
}

/* As the handler answers. */
static int see_project(struct server *sv, struct ask *ask, const char *project, struct err *e)
{
    struct sweep_info any = { .project = project };
    int64_t owner = 0;
    int rc;

    if (owner_of(sv, ask->arena, project, &owner, &any.user, e) < 0)
        return -1;
    rc = project_may_see(sv, ask, owner, &any, e);
    if (rc < 0)
        err_set(e, ERR_DENIED, "project '%s' is %s's, and you may not read it", project, any.user);
    return rc;
}

int handle_get_data(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_get_data *req = request;
    int64_t uid = ask->conn->is_admin ? SCHEMA_NONE : (int64_t)ask->conn->uid;
    int rc = req->project == NULL ? 0 : see_project(sv, ask, req->project, e);

    if (rc != 0)
        return rc;
    return fill_page(sv, ask->arena, req, req->project == NULL ? uid : SCHEMA_NONE, reply, e);
}

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

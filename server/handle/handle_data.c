/* SPDX-License-Identifier: MIT */
/* handle_data.c - which trees there are, who needs them, who holds them */
#include <string.h>

#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/queue/rows.h"
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
